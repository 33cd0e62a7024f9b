-- by event_pkey from the cursor on, then outbox_command_id_key and archived_pkey, each looked up by
-- its key; of an erased one by delivery_pkey or receipt_pkey: the commands that a stream issued.
SELECT e.seq, c.idx, coalesce(o.destination, a.destination), coalesce(o.kind, a.kind),
  CASE WHEN o.n IS NOT NULL THEN o.ordering_key ELSE a.ordering_key END,
  CASE WHEN o.n IS NULL THEN a.digest
    WHEN o.body IS NOT NULL THEN sha256(o.body)
    ELSE coalesce((SELECT d.digest FROM cf.delivery d WHERE d.n = o.n),
      (SELECT r.digest FROM cf.receipt r WHERE r.n = o.n AND r.digest IS NOT NULL
        ORDER BY r.round DESC LIMIT 1)) END,
  o.content_type, o.headers, o.core_digest, o.not_before, o.expires_at
FROM cf.event e
CROSS JOIN LATERAL generate_series(0, e.commands - 1) AS c(idx)
LEFT JOIN LATERAL (SELECT b.n, b.destination, b.kind, b.ordering_key,
    CASE WHEN b.erased_at IS NULL THEN b.body END AS body,
    CASE WHEN b.erased_at IS NULL THEN b.content_type END AS content_type, b.headers,
    b.core_digest, b.not_before, b.expires_at
  FROM cf.outbox b WHERE b.command_id = e.stream || ':' || e.seq || ':' || c.idx
    AND b.stream = e.stream LIMIT 1) o ON true
LEFT JOIN LATERAL (SELECT t.command_id, t.destination, t.kind, t.ordering_key, t.digest
  FROM cf.archived t WHERE t.command_id = e.stream || ':' || e.seq || ':' || c.idx
  LIMIT 1) a ON true
WHERE e.stream = $1::text AND e.seq >= $2::bigint AND e.commands > 0
  AND (e.seq > $2::bigint OR c.idx > $3::bigint)
  AND (o.n IS NOT NULL OR a.command_id IS NOT NULL)
ORDER BY e.seq, c.idx LIMIT $4::bigint;

-- by event_pkey from the cursor on, then outbox_command_id_key and archived_pkey; of an erased one
-- by delivery_pkey or receipt_pkey: the commands that a stream issued.
SELECT e.seq, c.idx, coalesce(o.destination, a.destination), coalesce(o.kind, a.kind),
  CASE WHEN o.n IS NOT NULL THEN o.ordering_key ELSE a.ordering_key END,
  CASE WHEN o.n IS NULL THEN a.digest
    WHEN o.erased_at IS NULL THEN sha256(o.body)
    ELSE coalesce((SELECT d.digest FROM cf.delivery d WHERE d.n = o.n),
      (SELECT r.digest FROM cf.receipt r WHERE r.n = o.n AND r.digest IS NOT NULL
        ORDER BY r.round DESC LIMIT 1)) END
FROM cf.event e
CROSS JOIN LATERAL generate_series(0, e.commands - 1) AS c(idx)
LEFT JOIN cf.outbox o ON o.command_id = e.stream || ':' || e.seq || ':' || c.idx
  AND o.stream = e.stream
LEFT JOIN cf.archived a ON a.command_id = e.stream || ':' || e.seq || ':' || c.idx
WHERE e.stream = $1::text AND e.seq >= $2::bigint AND e.commands > 0
  AND (e.seq > $2::bigint OR c.idx > $3::bigint)
  AND (o.n IS NOT NULL OR a.command_id IS NOT NULL)
ORDER BY e.seq, c.idx LIMIT $4::bigint;

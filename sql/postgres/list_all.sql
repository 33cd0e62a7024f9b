-- by outbox_pkey from the cursor on, delivery_pkey, and receipt_pkey for what has ended. Each LIMIT
-- keeps its table from being read whole for a join with a page.
SELECT o.n, o.command_id, o.destination, o.kind, o.recorded_at, d.state, d.round, d.attempts,
  d.in_doubt, d.available_at, d.token, d.last_outcome, r.outcome, r.round, r.attempts, r.token,
  o.expires_at, coalesce(d.first_sent_at, r.first_sent_at), o.erased_at IS NOT NULL
FROM cf.outbox o
LEFT JOIN LATERAL (SELECT e.n, e.state, e.round, e.attempts, e.in_doubt, e.available_at, e.token,
    e.last_outcome, e.first_sent_at
  FROM cf.delivery e WHERE e.n = o.n LIMIT 1) d ON true
LEFT JOIN LATERAL (SELECT e.outcome, e.round, e.attempts, e.token, e.first_sent_at
  FROM cf.receipt e
  WHERE e.n = o.n ORDER BY e.round DESC LIMIT 1) r ON d.n IS NULL
WHERE o.n > $1::bigint
  AND ($2::text IS NULL OR o.destination = $2::text)
  AND ($3::text IS NULL OR o.kind = $3::text)
  AND ($4::text IS NULL OR o.stream = $4::text)
  AND ($5::bigint IS NULL OR o.recorded_at >= $5::bigint)
  AND ($6::bigint IS NULL OR o.recorded_at < $6::bigint)
  AND ($7::text IS NULL OR coalesce(d.state, r.outcome, 'missing') = $7::text)
  AND ($8::text IS NULL OR strpos(d.last_outcome, $8::text) > 0)
ORDER BY o.n LIMIT $9::bigint;

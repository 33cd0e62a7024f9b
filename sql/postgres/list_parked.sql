-- by delivery_parked from the cursor on, and outbox_pkey: only what waits for a person is walked.
SELECT o.n, o.command_id, o.destination, o.kind, o.recorded_at, d.state, d.round, d.attempts,
  d.in_doubt, d.available_at, d.token, d.last_outcome, NULL::text, NULL::int, NULL::int,
  NULL::bigint, o.expires_at, d.first_sent_at, o.erased_at IS NOT NULL
FROM cf.delivery d
CROSS JOIN LATERAL (SELECT e.n, e.command_id, e.destination, e.kind, e.stream, e.recorded_at,
    e.expires_at, e.erased_at
  FROM cf.outbox e WHERE e.n = d.n LIMIT 1) o
WHERE d.n > $1::bigint
  AND ($2::text IS NULL OR o.destination = $2::text)
  AND ($3::text IS NULL OR o.kind = $3::text)
  AND ($4::text IS NULL OR o.stream = $4::text)
  AND ($5::bigint IS NULL OR o.recorded_at >= $5::bigint)
  AND ($6::bigint IS NULL OR o.recorded_at < $6::bigint)
  AND d.state IN ('dead', 'uncertain', 'conflict')
  AND ($7::text = 'parked' OR d.state = $7::text)
  AND ($8::text IS NULL OR strpos(d.last_outcome, $8::text) > 0)
ORDER BY d.n LIMIT $9::bigint;

-- by outbox_pkey: what became of it nobody knows. It may have been sent since it was recorded, and
-- may be on its way until now.
INSERT INTO cf.delivery(n, destination, state, in_doubt, token, first_sent_at, last_lease_until,
  expires_at, ordering_key, key_seq, last_outcome)
SELECT o.n, o.destination, 'uncertain', 1, $2::bigint, o.recorded_at, $3::bigint, o.expires_at,
  o.ordering_key, $4::bigint, $5::text
FROM cf.outbox o WHERE o.n = $1::bigint
ON CONFLICT (n) DO NOTHING RETURNING n;

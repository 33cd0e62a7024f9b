-- by outbox_pkey: an ended command is open again, in a new round.
INSERT INTO cf.delivery(n, destination, state, round, available_at, token, expires_at,
  ordering_key, key_seq)
SELECT o.n, o.destination, 'pending', $2::int, $3::bigint, $4::bigint, o.expires_at,
  o.ordering_key, $5::bigint
FROM cf.outbox o WHERE o.n = $1::bigint;

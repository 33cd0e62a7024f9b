-- by outbox_pkey: an ended command is open again, in a new round, due at its own not_before at the
-- earliest.
INSERT INTO cf.delivery(n, destination, state, round, available_at, token, expires_at,
  ordering_key, key_seq, first_sent_at)
SELECT o.n, o.destination, 'pending', $2::int,
  CASE WHEN $3::bigint IS NOT NULL THEN greatest($3::bigint, o.not_before) END, $4::bigint,
  o.expires_at, o.ordering_key, $5::bigint, $6::bigint
FROM cf.outbox o WHERE o.n = $1::bigint;

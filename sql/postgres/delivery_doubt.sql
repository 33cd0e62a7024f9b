-- by delivery_pkey: what a restore says of each, in the transaction that has just read and locked
-- them.
UPDATE cf.delivery d SET state = u.state, in_doubt = u.in_doubt, available_at = u.available_at,
  turn = CASE WHEN u.available_at IS NOT NULL THEN d.turn END, token = u.token,
  lease_until = u.lease_until, lease_owner = CASE WHEN u.lease_until IS NOT NULL
    THEN d.lease_owner END,
  first_sent_at = u.first_sent_at, last_lease_until = u.last_lease_until,
  last_outcome = u.last_outcome
FROM unnest($1::bigint[], $2::text[], $3::int[], $4::bigint[], $5::bigint[], $6::bigint[],
    $7::bigint[], $8::bigint[], $9::text[])
  AS u(n, state, in_doubt, available_at, token, lease_until, first_sent_at, last_lease_until,
    last_outcome)
WHERE d.n = u.n;

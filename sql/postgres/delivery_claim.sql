-- by delivery_pkey: the plain claims of pending commands, in the transaction that has just read
-- and locked them.
UPDATE cf.delivery d SET state = 'sending', attempts = u.attempts, round_since = u.round_since,
  token = u.token, available_at = u.lease_until, lease_until = u.lease_until,
  last_lease_until = u.lease_until, lease_owner = $7::text, first_sent_at = u.first_sent_at
FROM unnest($1::bigint[], $2::int[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[])
  AS u(n, attempts, round_since, token, lease_until, first_sent_at)
WHERE d.n = u.n;

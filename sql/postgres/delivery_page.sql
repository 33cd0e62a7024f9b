-- by delivery_pkey from the cursor on.
SELECT n, state, round, round_since, attempts, asks, in_doubt, available_at, token, lease_until,
  lease_owner, first_sent_at, last_lease_until, last_outcome, key_seq
FROM cf.delivery WHERE n > $1::bigint ORDER BY n LIMIT $2::bigint FOR UPDATE;

-- by delivery_pkey.
SELECT n, state, round, round_since, attempts, asks, in_doubt, available_at, token, lease_until,
  lease_owner, first_sent_at, last_lease_until, last_outcome, key_seq, destination, digest,
  row_digest
FROM cf.delivery WHERE n = ANY($1::bigint[]) ORDER BY n;

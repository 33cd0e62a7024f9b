-- by delivery_pkey.
SELECT n, state, round, round_since, attempts, asks, in_doubt, available_at, token, lease_until,
  lease_owner, first_sent_at, last_lease_until, last_outcome, key_seq, destination, digest,
  row_digest, ordering_key, expires_at,
  CASE WHEN turn IS NOT NULL THEN turn = 1 AND ordering_key IS NOT NULL END
FROM cf.delivery WHERE n BETWEEN $1::bigint AND $2::bigint ORDER BY n;

-- by delivery_pkey: whoever reads it here holds it until the end of the transaction.
SELECT n, state, round, round_since, attempts, asks, in_doubt, available_at, token, lease_until,
  lease_owner, first_sent_at, last_lease_until, last_outcome, key_seq, destination, digest,
  row_digest, ordering_key
FROM cf.delivery WHERE n = $1::bigint FOR UPDATE;

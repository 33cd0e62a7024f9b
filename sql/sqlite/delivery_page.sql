-- by rowid from the cursor on.
SELECT n, state, round, round_since, attempts, asks, in_doubt, available_at, token, lease_until,
  lease_owner, first_sent_at, last_lease_until, last_outcome, key_seq
FROM counterfoil_delivery WHERE n > ?1 ORDER BY n LIMIT ?2;

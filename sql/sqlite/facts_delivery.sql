-- by rowid, a range of it, and for the turn by the primary key of counterfoil_lane.
SELECT n, state, round, round_since, attempts, asks, in_doubt, available_at, token, lease_until,
  lease_owner, first_sent_at, last_lease_until, last_outcome, key_seq, destination, digest,
  row_digest, ordering_key, expires_at,
  CASE WHEN turn IS NOT NULL THEN turn IS (SELECT l.n FROM counterfoil_lane l
    WHERE l.destination = counterfoil_delivery.destination
      AND l.ordering_key = counterfoil_delivery.ordering_key) END
FROM counterfoil_delivery WHERE n BETWEEN ?1 AND ?2 ORDER BY n;

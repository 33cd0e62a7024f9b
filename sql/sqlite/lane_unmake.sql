-- by the primary key of counterfoil_lane, then by rowid: a lane that has given no place is none.
DELETE FROM counterfoil_lane
WHERE (destination, ordering_key) =
  (SELECT o.destination, o.ordering_key FROM counterfoil_outbox o WHERE o.n = ?1) AND last = 0;

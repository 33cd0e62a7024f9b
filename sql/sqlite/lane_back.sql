-- by the primary key of counterfoil_lane, then by rowid: takes back the newest place of a lane,
-- whose command is refused in the same transaction.
UPDATE counterfoil_lane SET last = last - 1, n = nullif(n, ?1)
WHERE (destination, ordering_key) =
  (SELECT o.destination, o.ordering_key FROM counterfoil_outbox o WHERE o.n = ?1);

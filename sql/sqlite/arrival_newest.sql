-- by rowid, the last of each: the numbers that the next rows are given follow from them.
SELECT coalesce((SELECT max(n) FROM counterfoil_outbox), 0),
  coalesce((SELECT max(rowid) FROM counterfoil_receipt), 0),
  coalesce((SELECT max(rowid) FROM counterfoil_attempt), 0),
  coalesce((SELECT max(rowid) FROM counterfoil_contradiction), 0),
  coalesce((SELECT max(id) FROM counterfoil_operator_action), 0);

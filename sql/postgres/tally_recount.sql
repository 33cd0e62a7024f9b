-- by scan of tally, by scan of archived, by scan of receipt, by receipt_pkey and by delivery_pkey:
-- adds what the tally lacks of what newest receipts and tombstones say. One statement is one
-- snapshot, so what ends meanwhile is counted once, by itself.
INSERT INTO cf.tally(destination, outcome, count)
SELECT destination, outcome, sum(count)::bigint FROM (
  SELECT t.destination, t.outcome, -t.count AS count FROM cf.tally t
  UNION ALL
  SELECT a.destination, a.outcome, 1 FROM cf.archived a
  UNION ALL
  SELECT r.destination, r.outcome, 1 FROM cf.receipt r
  WHERE NOT EXISTS (SELECT 1 FROM cf.receipt l WHERE l.n = r.n AND l.round > r.round)
    AND NOT EXISTS (SELECT 1 FROM cf.delivery d WHERE d.n = r.n AND d.round > r.round)
) counted GROUP BY destination, outcome HAVING sum(count) <> 0;

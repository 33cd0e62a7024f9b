-- by scan of receipt, by sqlite_autoindex_counterfoil_receipt_1 and by rowid, then by scan of
-- archived: the audit counts every row. What was redelivered and is open again has not ended; a
-- mark is no receipt.
SELECT destination, outcome, sum(count) FROM (
  SELECT destination, outcome, count(*) AS count FROM counterfoil_receipt r
  WHERE (+r.n, r.round) <> (0, 0)
    AND NOT EXISTS (SELECT 1 FROM counterfoil_receipt l WHERE l.n = r.n AND l.round > r.round)
    AND NOT EXISTS (SELECT 1 FROM counterfoil_delivery d WHERE d.n = r.n AND d.round > r.round)
  GROUP BY destination, outcome
  UNION ALL
  SELECT destination, outcome, count(*) FROM counterfoil_archived GROUP BY destination, outcome
) GROUP BY destination, outcome;

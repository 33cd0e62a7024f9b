-- by scan of receipt, by sqlite_autoindex_counterfoil_receipt_1 and by rowid: the audit counts
-- every row; what was redelivered and is open again has not ended.
SELECT destination, outcome, count(*) FROM counterfoil_receipt r
WHERE NOT EXISTS (SELECT 1 FROM counterfoil_receipt l WHERE l.n = r.n AND l.round > r.round)
  AND NOT EXISTS (SELECT 1 FROM counterfoil_delivery d WHERE d.n = r.n AND d.round > r.round)
GROUP BY destination, outcome;

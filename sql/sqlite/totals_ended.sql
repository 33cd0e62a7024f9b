-- by scan of receipt and by sqlite_autoindex_counterfoil_receipt_1: the audit counts every row.
SELECT destination, outcome, count(*) FROM counterfoil_receipt r
WHERE NOT EXISTS (SELECT 1 FROM counterfoil_receipt l WHERE l.n = r.n AND l.round > r.round)
GROUP BY destination, outcome;

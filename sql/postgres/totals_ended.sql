-- by scan of receipt, by receipt_pkey and by delivery_pkey: the audit counts every row; what was
-- redelivered and is open again has not ended.
SELECT r.destination, r.outcome, count(*) FROM cf.receipt r
WHERE NOT EXISTS (SELECT 1 FROM cf.receipt l WHERE l.n = r.n AND l.round > r.round)
  AND NOT EXISTS (SELECT 1 FROM cf.delivery d WHERE d.n = r.n AND d.round > r.round)
GROUP BY r.destination, r.outcome ORDER BY r.destination, r.outcome;

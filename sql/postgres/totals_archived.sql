-- by scan of archived: the audit counts every row.
SELECT destination, outcome, count(*) FROM cf.archived GROUP BY destination, outcome
ORDER BY destination, outcome;

-- by scan of archived: the audit counts every row.
SELECT destination, count(*) FROM counterfoil_archived GROUP BY destination;

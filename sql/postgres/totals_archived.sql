-- by scan of archived: the audit counts every row.
SELECT destination, count(*) FROM cf.archived GROUP BY destination;

-- by scan of delivery: the audit counts every row.
SELECT destination, count(*) FROM cf.delivery GROUP BY destination;

-- by scan of outbox: the audit counts every row.
SELECT destination, count(*) FROM cf.outbox GROUP BY destination;

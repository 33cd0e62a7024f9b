-- by scan of outbox: the audit counts every row.
SELECT destination, count(*) FROM counterfoil_outbox GROUP BY destination;

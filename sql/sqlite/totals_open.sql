-- by scan of delivery: the audit counts every row.
SELECT destination, count(*) FROM counterfoil_delivery GROUP BY destination;

-- by scan of counterfoil_delivery_due: it holds only what a machine will look at.
SELECT destination, min(available_at) FROM counterfoil_delivery
WHERE available_at IS NOT NULL AND available_at <= ?1 GROUP BY destination;

-- by scan of delivery_due: it holds only what a machine will look at.
SELECT destination, min(available_at) FROM cf.delivery
WHERE available_at IS NOT NULL AND available_at <= $1::bigint GROUP BY destination;

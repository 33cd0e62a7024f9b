-- by counterfoil_delivery_due.
SELECT 1 FROM counterfoil_delivery
WHERE available_at IS NOT NULL AND destination = ?1 AND available_at <= ?2 LIMIT 1;

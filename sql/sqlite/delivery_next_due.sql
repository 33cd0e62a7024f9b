-- by counterfoil_delivery_due.
SELECT min(available_at) FROM counterfoil_delivery
WHERE available_at IS NOT NULL AND destination = ?1;

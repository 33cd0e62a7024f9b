-- by counterfoil_delivery_due: the next destination where something waits for a relay.
SELECT min(destination) FROM counterfoil_delivery
WHERE available_at IS NOT NULL AND destination > ?1;

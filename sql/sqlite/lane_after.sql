-- by counterfoil_delivery_lane: the next lane in which one waits or is parked.
SELECT destination, ordering_key FROM counterfoil_delivery
WHERE ordering_key IS NOT NULL AND turn IS NULL AND (destination, ordering_key) > (?1, ?2)
ORDER BY destination, ordering_key LIMIT 1;

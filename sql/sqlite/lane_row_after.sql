-- by the primary key of counterfoil_lane: the next lane that gave a place.
SELECT destination, ordering_key, last FROM counterfoil_lane
WHERE (destination, ordering_key) > (?1, ?2) ORDER BY destination, ordering_key LIMIT 1;

-- by counterfoil_delivery_lane: who was committed first of those that wait or are parked.
SELECT n, state, key_seq FROM counterfoil_delivery
WHERE destination = ?1 AND ordering_key = ?2 AND ordering_key IS NOT NULL AND turn IS NULL
ORDER BY key_seq LIMIT 1;

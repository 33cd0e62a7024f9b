-- by counterfoil_outbox_lane: the next lane that has a command.
SELECT destination, ordering_key FROM counterfoil_outbox
WHERE ordering_key IS NOT NULL AND (destination, ordering_key) > (?1, ?2)
ORDER BY destination, ordering_key LIMIT 1;

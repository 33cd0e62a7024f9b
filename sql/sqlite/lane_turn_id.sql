-- by counterfoil_delivery_turn, then by rowid of the outbox: who has the turn of a lane.
SELECT o.command_id, d.state
FROM counterfoil_delivery d CROSS JOIN counterfoil_outbox o ON o.n = d.n
WHERE d.destination = ?1 AND d.ordering_key = ?2 AND d.turn IS NOT NULL;

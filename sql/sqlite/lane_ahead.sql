-- by counterfoil_delivery_lane, then by rowid of the outbox: the first open ones before a place.
SELECT o.command_id, d.state
FROM counterfoil_delivery d CROSS JOIN counterfoil_outbox o ON o.n = d.n
WHERE d.destination = ?1 AND d.ordering_key = ?2 AND d.ordering_key IS NOT NULL AND d.key_seq < ?3
ORDER BY d.key_seq LIMIT ?4;

-- by counterfoil_delivery_lane, the primary key of counterfoil_lane and counterfoil_delivery_turn,
-- then by scan of those few and by rowid of the outbox: the first open ones before a place.
SELECT o.command_id, d.state
FROM (
  SELECT * FROM (SELECT n, state, key_seq FROM counterfoil_delivery
    WHERE destination = ?1 AND ordering_key = ?2 AND ordering_key IS NOT NULL AND turn IS NULL
      AND key_seq < ?3 ORDER BY key_seq LIMIT ?4)
  UNION ALL
  SELECT t.n, t.state, t.key_seq
  FROM counterfoil_lane l CROSS JOIN counterfoil_delivery t ON t.turn = l.n
  WHERE l.destination = ?1 AND l.ordering_key = ?2 AND t.key_seq < ?3
) d CROSS JOIN counterfoil_outbox o ON o.n = d.n
ORDER BY d.key_seq LIMIT ?4;

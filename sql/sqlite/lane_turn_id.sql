-- by the primary key of counterfoil_lane, then by counterfoil_delivery_turn and by rowid of the
-- outbox: who has the turn of a lane.
SELECT o.command_id, d.state
FROM counterfoil_lane l CROSS JOIN counterfoil_delivery d ON d.turn = l.n
  CROSS JOIN counterfoil_outbox o ON o.n = d.n
WHERE l.destination = ?1 AND l.ordering_key = ?2;

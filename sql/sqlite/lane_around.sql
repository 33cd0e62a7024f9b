-- by counterfoil_delivery_lane, the primary key of counterfoil_lane and counterfoil_delivery_turn:
-- how many are open before a place, and how many wait behind it.
SELECT
  (SELECT count(*) FROM counterfoil_delivery
   WHERE destination = ?1 AND ordering_key = ?2 AND ordering_key IS NOT NULL AND turn IS NULL
     AND key_seq < ?3)
  + (SELECT count(*) FROM counterfoil_lane l CROSS JOIN counterfoil_delivery t ON t.turn = l.n
   WHERE l.destination = ?1 AND l.ordering_key = ?2 AND t.key_seq < ?3),
  (SELECT count(*) FROM counterfoil_delivery
   WHERE destination = ?1 AND ordering_key = ?2 AND ordering_key IS NOT NULL AND turn IS NULL
     AND key_seq > ?3 AND state = 'pending')
  + (SELECT count(*) FROM counterfoil_lane l CROSS JOIN counterfoil_delivery t ON t.turn = l.n
   WHERE l.destination = ?1 AND l.ordering_key = ?2 AND t.key_seq > ?3 AND t.state = 'pending');

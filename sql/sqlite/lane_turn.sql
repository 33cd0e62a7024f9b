-- by the primary key of counterfoil_lane, then by counterfoil_delivery_turn: a lane's number, and
-- who has its turn, one at most.
SELECT l.n, d.n, d.state, d.key_seq
FROM counterfoil_lane l LEFT JOIN counterfoil_delivery d ON d.turn = l.n
WHERE l.destination = ?1 AND l.ordering_key = ?2;

-- by counterfoil_delivery_turn: who has the turn of a lane, one at most.
SELECT n, state, key_seq FROM counterfoil_delivery
WHERE destination = ?1 AND ordering_key = ?2 AND turn IS NOT NULL;

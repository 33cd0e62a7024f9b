-- by the primary key of counterfoil_lane.
SELECT last FROM counterfoil_lane WHERE destination = ?1 AND ordering_key = ?2;

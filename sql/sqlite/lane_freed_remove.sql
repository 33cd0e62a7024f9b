-- by the primary key of counterfoil_lane_freed: a sweep has looked.
DELETE FROM counterfoil_lane_freed WHERE destination = ?1 AND ordering_key = ?2;

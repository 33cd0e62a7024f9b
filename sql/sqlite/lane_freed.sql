-- by scan of counterfoil_lane_freed, which holds no more than a sweep has yet to look at.
SELECT destination, ordering_key FROM counterfoil_lane_freed LIMIT ?1;

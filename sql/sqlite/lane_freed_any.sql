-- by scan of counterfoil_lane_freed, for its first row.
SELECT 1 FROM counterfoil_lane_freed LIMIT 1;

-- by the primary key of counterfoil_lane: draws the next place of a lane.
INSERT INTO counterfoil_lane(destination, ordering_key, last) VALUES (?1, ?2, 1)
ON CONFLICT(destination, ordering_key) DO UPDATE SET last = last + 1 RETURNING last;

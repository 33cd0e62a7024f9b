-- by lane_pkey: keeps writers of the lane away until the transaction ends; a lane whose row was
-- lost, too, gets one.
INSERT INTO cf.lane AS l(destination, ordering_key, last) VALUES ($1::text, $2::text, 0)
ON CONFLICT (destination, ordering_key) DO UPDATE SET last = l.last
RETURNING l.last;

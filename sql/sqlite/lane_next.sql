-- by the primary key of counterfoil_lane: draws the next place of a lane, for the command ?3.
INSERT INTO counterfoil_lane(destination, ordering_key, last, n) VALUES (?1, ?2, 1, ?3)
ON CONFLICT(destination, ordering_key) DO UPDATE SET last = last + 1, n = coalesce(n, excluded.n)
RETURNING last, n;

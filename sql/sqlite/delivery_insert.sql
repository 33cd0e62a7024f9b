-- by none: it appends, since n is the largest.
INSERT INTO counterfoil_delivery(n, destination, state, available_at, expires_at)
VALUES (?1, ?2, 'pending', ?3, ?4);

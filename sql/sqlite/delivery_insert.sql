-- by none: it appends, since n is the largest.
INSERT INTO counterfoil_delivery(n, destination, state, available_at, turn, expires_at,
  ordering_key, key_seq)
VALUES (?1, ?2, 'pending', ?3, ?4, ?5, ?6, ?7);

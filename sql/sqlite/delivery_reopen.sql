-- by rowid: an ended command is open again, in a new round.
INSERT INTO counterfoil_delivery(n, destination, state, round, available_at, token, expires_at,
  ordering_key, key_seq)
SELECT o.n, o.destination, 'pending', ?2, ?3, ?4, o.expires_at, o.ordering_key, ?5
FROM counterfoil_outbox o WHERE o.n = ?1;

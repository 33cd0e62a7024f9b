-- by rowid: an ended command is open again, in a new round, due at its own not_before at the
-- earliest.
INSERT INTO counterfoil_delivery(n, destination, state, round, available_at, token, expires_at,
  ordering_key, key_seq, first_sent_at)
SELECT o.n, o.destination, 'pending', ?2, max(?3, coalesce(o.not_before, ?3)), ?4, o.expires_at,
  o.ordering_key, ?5, ?6
FROM counterfoil_outbox o WHERE o.n = ?1;

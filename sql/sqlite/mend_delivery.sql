-- by rowid: what became of it nobody knows. It may have been sent as soon as it was recorded, and
-- may be under way until now.
INSERT INTO counterfoil_delivery(n, destination, state, round, in_doubt, token, expires_at,
  ordering_key, key_seq, first_sent_at, last_lease_until, last_outcome, digest, row_digest)
SELECT o.n, o.destination, 'uncertain', ?2, 1, ?3, o.expires_at, o.ordering_key, ?4, o.recorded_at,
  ?5, ?6, ?7, ?8
FROM counterfoil_outbox o WHERE o.n = ?1;

-- by counterfoil_delivery_parked from the cursor on, and rowid of the outbox: only what waits for a
-- person is walked.
SELECT o.n, o.command_id, o.destination, o.kind, o.recorded_at, d.state, d.round, d.attempts,
  d.in_doubt, d.available_at, d.token, d.last_outcome, NULL, NULL, NULL, NULL,
  o.expires_at, d.first_sent_at, o.erased_at IS NOT NULL
FROM counterfoil_delivery d INDEXED BY counterfoil_delivery_parked
CROSS JOIN counterfoil_outbox o ON o.n = d.n
WHERE d.n > ?1
  AND (?2 IS NULL OR o.destination = ?2)
  AND (?3 IS NULL OR o.kind = ?3)
  AND (?4 IS NULL OR o.stream = ?4)
  AND (?5 IS NULL OR o.recorded_at >= ?5)
  AND (?6 IS NULL OR o.recorded_at < ?6)
  AND (d.state = 'dead' OR d.state = 'uncertain' OR d.state = 'conflict')
  AND (?7 = 'parked' OR d.state = ?7)
  AND (?8 IS NULL OR instr(d.last_outcome, ?8))
ORDER BY d.n LIMIT ?9;

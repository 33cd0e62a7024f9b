-- by rowid from the cursor on, and sqlite_autoindex_counterfoil_receipt_1 for what has ended.
SELECT o.n, o.command_id, o.destination, o.kind, o.recorded_at, d.state, d.round, d.attempts,
  d.in_doubt, d.available_at, d.token, d.last_outcome, r.outcome, r.round, r.attempts, r.token,
  o.expires_at, coalesce(d.first_sent_at, r.first_sent_at), o.erased_at IS NOT NULL
FROM counterfoil_outbox o
LEFT JOIN counterfoil_delivery d ON d.n = o.n
LEFT JOIN counterfoil_receipt r ON d.n IS NULL AND r.n = o.n
  AND r.round = (SELECT max(round) FROM counterfoil_receipt WHERE n = o.n)
WHERE o.n > ?1
  AND (?2 IS NULL OR o.destination = ?2)
  AND (?3 IS NULL OR o.kind = ?3)
  AND (?4 IS NULL OR o.stream = ?4)
  AND (?5 IS NULL OR o.recorded_at >= ?5)
  AND (?6 IS NULL OR o.recorded_at < ?6)
  AND (?7 IS NULL OR coalesce(d.state, r.outcome, 'missing') = ?7)
  AND (?8 IS NULL OR instr(d.last_outcome, ?8))
ORDER BY o.n LIMIT ?9;

-- by counterfoil_attempt_n.
SELECT round, token, purpose, outcome, reason, ended_at
FROM counterfoil_attempt WHERE n = ?1 ORDER BY rowid;

-- by counterfoil_attempt_n, a range of it.
SELECT n, round, purpose, outcome, ended_at, rowid, token, started_at, reason
FROM counterfoil_attempt WHERE n > ?1 AND n <= ?2 ORDER BY n, rowid;

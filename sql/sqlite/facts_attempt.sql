-- by counterfoil_attempt_n, a range of it. A mark is no attempt.
SELECT n, round, purpose, outcome, ended_at, rowid, token, started_at, reason
FROM counterfoil_attempt WHERE n BETWEEN ?1 AND ?2
  AND (n <> 0 OR (round, token, purpose, outcome) <> (0, 0, 'archive', 'archived')
    OR coalesce(reason, started_at) IS NOT NULL)
ORDER BY n, rowid;

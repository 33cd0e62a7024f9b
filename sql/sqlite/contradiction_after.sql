-- by rowid from the cursor on.
SELECT round, outcome, result, evidence, source, recorded_at, rowid, command_id
FROM counterfoil_contradiction WHERE rowid > ?1 ORDER BY rowid LIMIT ?2;

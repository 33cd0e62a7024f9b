-- by counterfoil_contradiction_command.
SELECT round, outcome, result, evidence, source, recorded_at, rowid
FROM counterfoil_contradiction WHERE command_id = ?1 ORDER BY recorded_at, rowid;

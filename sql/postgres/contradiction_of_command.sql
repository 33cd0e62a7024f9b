-- by contradiction_command.
SELECT round, outcome, result, evidence, source, recorded_at
FROM cf.contradiction WHERE command_id = $1::text ORDER BY recorded_at, id;

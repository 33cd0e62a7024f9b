-- by contradiction_command: what was said otherwise of these commands.
SELECT command_id, round, outcome, recorded_at, id, result, evidence, source
FROM cf.contradiction WHERE command_id = ANY($1::text[]) ORDER BY recorded_at, id;

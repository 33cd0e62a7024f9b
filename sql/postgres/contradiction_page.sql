-- by contradiction_pkey from the cursor on.
SELECT command_id, round, outcome, recorded_at, id, result, evidence, source
FROM cf.contradiction WHERE id > $1::bigint ORDER BY id LIMIT $2::bigint;

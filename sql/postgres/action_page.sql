-- by operator_action_pkey from the cursor on.
SELECT about, id, verb, actor, reason, before, after, recorded_at FROM cf.operator_action
WHERE id > $1::bigint ORDER BY id LIMIT $2::bigint;

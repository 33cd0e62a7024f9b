-- by rowid from the cursor on.
SELECT id, verb, about, actor, reason, before, after, recorded_at
FROM counterfoil_operator_action WHERE id > ?1 ORDER BY id LIMIT ?2;

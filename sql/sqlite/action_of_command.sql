-- by counterfoil_operator_action_about.
SELECT verb, actor, reason, recorded_at FROM counterfoil_operator_action
WHERE about = ?1 ORDER BY id;

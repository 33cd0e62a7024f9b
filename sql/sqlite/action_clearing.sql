-- by counterfoil_operator_action_about: what begins a round that follows no
-- receipt, and whether it says not done.
SELECT recorded_at, verb = 'resolve' FROM counterfoil_operator_action
WHERE about = ?1 AND (verb = 'retry' OR (verb = 'resolve' AND after = 'pending'))
ORDER BY id;

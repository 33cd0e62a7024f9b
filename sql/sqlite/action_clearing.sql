-- by counterfoil_operator_action_about: what begins a round, or says not done.
SELECT recorded_at FROM counterfoil_operator_action
WHERE about = ?1 AND (verb IN ('retry', 'redeliver') OR (verb = 'resolve' AND after = 'pending'))
ORDER BY id;

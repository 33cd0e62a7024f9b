-- by counterfoil_operator_action_about: restores, which are about the store as a whole.
SELECT verb, actor, reason, recorded_at FROM counterfoil_operator_action
WHERE about = 'store' AND verb = 'restored' AND recorded_at >= ?1 ORDER BY id;

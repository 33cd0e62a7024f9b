-- by operator_action_about: restores, which are about the store as a whole.
SELECT verb, actor, reason, recorded_at FROM cf.operator_action
WHERE about = 'store' AND verb = 'restored' AND recorded_at >= $1::bigint ORDER BY id;

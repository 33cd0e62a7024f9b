-- by operator_action_about: a destination, or the store, may be called like a command.
SELECT verb, actor, reason, recorded_at FROM cf.operator_action
WHERE about = $1::text AND verb NOT IN ('pause', 'resume', 'restored', 'reseal', 'workflow retry',
    'workflow end', 'input expire', 'input set aside', 'input drop', 'workflow recall') ORDER BY id;

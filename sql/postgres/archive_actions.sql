-- by operator_action_about: what people did to these commands; a destination, or the store, may be
-- called like one.
SELECT about, id, verb, actor, reason, before, after, recorded_at FROM cf.operator_action
WHERE about = ANY($1::text[])
  AND verb NOT IN ('pause', 'resume', 'restored', 'reseal', 'workflow retry', 'workflow end',
    'input expire', 'input set aside', 'input drop', 'workflow recall')
ORDER BY id;

-- by operator_action_about: the outcomes that redeliveries of these commands reopened.
SELECT about, before FROM cf.operator_action
WHERE about = ANY($1::text[]) AND verb = 'redeliver' ORDER BY id;

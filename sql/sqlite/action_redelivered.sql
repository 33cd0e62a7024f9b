-- by counterfoil_operator_action_about: the outcomes that redeliveries of a command reopened.
SELECT before FROM counterfoil_operator_action
WHERE about = ?1 AND verb = 'redeliver' ORDER BY id;

-- by counterfoil_operator_action_about: whether somebody erased the command.
SELECT EXISTS (SELECT 1 FROM counterfoil_operator_action WHERE about = ?1 AND verb = 'erase');

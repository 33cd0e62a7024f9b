-- by counterfoil_operator_action_about and counterfoil_contradiction_command: whether an archived
-- command was erased, and nobody has said or written anything of it since.
SELECT EXISTS (SELECT 1 FROM counterfoil_operator_action WHERE about = ?1 AND verb = 'erase')
  AND NOT EXISTS (SELECT 1 FROM counterfoil_operator_action WHERE about = ?1
    AND verb NOT IN ('pause', 'resume', 'restored', 'reseal', 'workflow retry',
    'workflow end', 'input expire', 'input set aside', 'input drop', 'workflow recall',
    'erase') AND reason IS NOT NULL)
  AND NOT EXISTS (SELECT 1 FROM counterfoil_contradiction WHERE command_id = ?1
    AND (result IS NOT NULL OR evidence IS NOT NULL));

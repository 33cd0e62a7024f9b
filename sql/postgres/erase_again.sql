-- by operator_action_about and contradiction_command: whether an archived command was erased, and
-- nobody has said or written anything of it since.
SELECT EXISTS (SELECT 1 FROM cf.operator_action a WHERE a.about = $1::text AND a.verb = 'erase')
  AND NOT EXISTS (SELECT 1 FROM cf.operator_action a WHERE a.about = $1::text
    AND a.verb NOT IN ('pause', 'resume', 'restored', 'reseal', 'workflow retry',
    'workflow end', 'input expire', 'input set aside', 'input drop', 'workflow recall',
    'erase') AND a.reason IS NOT NULL)
  AND NOT EXISTS (SELECT 1 FROM cf.contradiction c WHERE c.command_id = $1::text
    AND (c.result IS NOT NULL OR c.evidence IS NOT NULL));

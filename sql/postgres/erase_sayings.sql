-- by contradiction_command and operator_action_about: what reports and people said of a command.
WITH said AS (
  UPDATE cf.contradiction c SET result = NULL, evidence = NULL WHERE c.command_id = $1::text
)
UPDATE cf.operator_action a SET reason = NULL
WHERE a.about = $1::text AND a.verb NOT IN
    ('pause', 'resume', 'restored', 'reseal', 'workflow retry', 'workflow end', 'input expire',
    'input set aside', 'input drop', 'workflow recall', 'erase')
  AND a.reason IS NOT NULL;

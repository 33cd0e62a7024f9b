-- by counterfoil_operator_action_about: what people wrote of a command whose content is erased.
UPDATE counterfoil_operator_action SET reason = NULL
WHERE about = ?1 AND verb NOT IN ('pause', 'resume', 'restored', 'reseal', 'workflow retry',
    'workflow end', 'input expire', 'input set aside', 'input drop', 'workflow recall', 'erase')
  AND reason IS NOT NULL;

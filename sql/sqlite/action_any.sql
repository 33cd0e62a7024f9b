-- by scan of counterfoil_operator_action_about: its first row.
SELECT 1 FROM counterfoil_operator_action LIMIT 1;

-- by scan of counterfoil_contradiction_command: its first row.
SELECT 1 FROM counterfoil_contradiction LIMIT 1;

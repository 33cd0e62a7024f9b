-- by scan of counterfoil_archived: its first row.
SELECT 1 FROM counterfoil_archived LIMIT 1;

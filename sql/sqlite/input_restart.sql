-- by sqlite_autoindex_counterfoil_input_1: of a workflow that never began the starts wait.
UPDATE counterfoil_input SET workflow = CASE WHEN kind = 'start' THEN name END WHERE stream = ?1;

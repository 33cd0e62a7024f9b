-- by sqlite_autoindex_counterfoil_input_1: all of a workflow wait for this program from now on.
UPDATE counterfoil_input SET workflow = ?2 WHERE stream = ?1 AND workflow IS NOT ?2;

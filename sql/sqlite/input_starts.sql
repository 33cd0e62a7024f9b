-- by sqlite_autoindex_counterfoil_input_1: a start that waits.
SELECT name FROM counterfoil_input WHERE stream = ?1 AND kind = 'start';

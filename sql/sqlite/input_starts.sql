-- by sqlite_autoindex_counterfoil_input_1: the first start that waits.
SELECT name, recorded_at FROM counterfoil_input
WHERE stream = ?1 AND kind = 'start' ORDER BY rowid LIMIT 1;

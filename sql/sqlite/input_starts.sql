-- by sqlite_autoindex_counterfoil_input_1: the first start that waits for its program; one that
-- cannot be read is set aside, and begins nothing.
SELECT name, recorded_at FROM counterfoil_input
WHERE stream = ?1 AND kind = 'start' AND workflow IS NOT NULL ORDER BY rowid LIMIT 1;

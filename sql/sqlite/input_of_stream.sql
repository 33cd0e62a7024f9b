-- by sqlite_autoindex_counterfoil_input_1 from the cursor on.
SELECT stream, id, kind, name, due_at, recorded_at, workflow IS NOT NULL FROM counterfoil_input
WHERE stream = ?1 AND id > ?2 ORDER BY id LIMIT ?3;

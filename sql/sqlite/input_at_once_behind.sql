-- by sqlite_autoindex_counterfoil_input_1: whether a workflow has an input that is due at once,
-- came after this arrival, and was recorded by this time.
SELECT 1 FROM counterfoil_input i
WHERE i.stream = ?1 AND i.due_at IS NULL AND i.workflow IS NOT NULL AND +i.rowid > ?2
  AND i.recorded_at <= ?3 LIMIT 1;

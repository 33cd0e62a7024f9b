-- by counterfoil_input_due in the order of arrival, and by the primary key of counterfoil_stream:
-- what waits for a program at once, from an arrival on, and whether its workflow has ended.
SELECT i.rowid, coalesce(s.status = 'completed' OR s.status = 'failed', 0)
FROM counterfoil_input i LEFT JOIN counterfoil_stream s ON s.stream = i.stream
WHERE i.workflow = ?1 AND i.due_at IS NULL AND i.rowid > ?2 ORDER BY i.rowid LIMIT ?3;

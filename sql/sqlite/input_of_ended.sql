-- by rowid and the primary key of counterfoil_stream: what came to a workflow that has ended, in
-- the columns of input_at_once.sql, and for whom it waits.
SELECT i.rowid, i.stream, i.id, i.kind, i.name, i.body, i.recorded_at, s.workflow, s.version,
  s.status, s.head, i.workflow
FROM counterfoil_input i CROSS JOIN counterfoil_stream s ON s.stream = i.stream
WHERE i.rowid = ?1 AND i.due_at IS NULL AND i.workflow IS NOT NULL AND s.workflow IS NOT NULL
  AND (s.status = 'completed' OR s.status = 'failed');

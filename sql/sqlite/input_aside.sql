-- by counterfoil_input_aside from the cursor on, and by the primary key of counterfoil_stream.
SELECT i.rowid, i.stream, i.id, i.kind, i.name, i.due_at, i.recorded_at, s.workflow, s.version,
  s.status
FROM counterfoil_input i LEFT JOIN counterfoil_stream s ON s.stream = i.stream
WHERE i.workflow IS NULL AND (i.stream, i.id) > (?1, ?2) ORDER BY i.stream, i.id;

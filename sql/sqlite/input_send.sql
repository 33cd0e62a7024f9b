-- by the primary key of counterfoil_stream and counterfoil_event_cause, and by the unique index of
-- stream and id, which answers a repeat with no row inserted.
INSERT INTO counterfoil_input(stream, id, kind, name, body, workflow, recorded_at)
SELECT ?1, ?2, ?3, ?4, ?5,
  CASE WHEN s.workflow IS NOT NULL THEN CASE WHEN s.status = 'running' OR s.status = 'completed'
    OR s.status = 'failed' THEN s.workflow || '/' || s.version END
  WHEN ?3 = 'start' THEN ?4 END, ?6
FROM (SELECT 1) LEFT JOIN counterfoil_stream s ON s.stream = ?1
WHERE NOT EXISTS (SELECT 1 FROM counterfoil_event e
  WHERE e.stream = ?1 AND e.cause = ?2 AND e.cause IS NOT NULL)
ON CONFLICT(stream, id) DO NOTHING;

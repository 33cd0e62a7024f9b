-- by rowid of the outbox, the primary key of counterfoil_stream and, for what stands already,
-- sqlite_autoindex_counterfoil_receipt_1 and counterfoil_event_cause.
INSERT INTO counterfoil_input(stream, id, kind, name, workflow, recorded_at)
SELECT o.stream, 'receipt:' || o.seq || ':' || o.idx, 'receipt', ?3,
  CASE WHEN s.status = 'running' OR s.status = 'completed' OR s.status = 'failed'
    THEN s.workflow || '/' || s.version END, ?4
FROM counterfoil_outbox o CROSS JOIN counterfoil_stream s ON s.stream = o.stream
WHERE o.n = ?1 AND s.workflow IS NOT NULL
  AND NOT EXISTS (SELECT 1 FROM counterfoil_receipt r WHERE r.n = ?1 AND r.round < ?2)
  AND NOT EXISTS (SELECT 1 FROM counterfoil_event e WHERE e.stream = o.stream
    AND e.cause = 'receipt:' || o.seq || ':' || o.idx AND e.cause IS NOT NULL)
ON CONFLICT(stream, id) DO NOTHING;

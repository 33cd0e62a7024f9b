-- by the primary keys of counterfoil_stream and counterfoil_event, by counterfoil_event_cause,
-- sqlite_autoindex_counterfoil_input_1 and sqlite_autoindex_counterfoil_receipt_1: a command of a
-- workflow, with a receipt of which the workflow never heard.
SELECT 1 FROM counterfoil_stream s
WHERE s.stream = ?1 AND s.workflow IS NOT NULL
  AND EXISTS (SELECT 1 FROM counterfoil_receipt r WHERE r.n = ?2)
  AND EXISTS (SELECT 1 FROM counterfoil_event b
    WHERE b.stream = s.stream AND b.seq = 1 AND b.kind GLOB 'start:*')
  AND NOT EXISTS (SELECT 1 FROM counterfoil_input i WHERE i.stream = s.stream AND i.id = ?3)
  AND NOT EXISTS (SELECT 1 FROM counterfoil_event e
    WHERE e.stream = s.stream AND e.cause = ?3 AND e.cause IS NOT NULL);

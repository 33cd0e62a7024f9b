-- by rowid from the cursor on; by the primary key of counterfoil_stream, counterfoil_event_cause,
-- sqlite_autoindex_counterfoil_outbox_1 and sqlite_autoindex_counterfoil_receipt_1 for each.
SELECT i.rowid, i.stream, i.id, i.kind, i.name, i.due_at, i.body IS NOT NULL,
  EXISTS (SELECT 1 FROM counterfoil_event e
    WHERE e.stream = i.stream AND e.cause = i.id AND e.cause IS NOT NULL),
  EXISTS (SELECT 1 FROM counterfoil_outbox o JOIN counterfoil_receipt r ON r.n = o.n
    WHERE o.command_id = i.stream || substr(i.id, 8) AND o.stream = i.stream
      AND r.outcome = i.name),
  i.workflow, s.workflow || '/' || s.version
FROM counterfoil_input i
LEFT JOIN counterfoil_stream s ON s.stream = i.stream AND s.workflow IS NOT NULL
WHERE i.rowid > ?1 ORDER BY i.rowid LIMIT ?2;

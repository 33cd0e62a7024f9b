-- by rowid from the cursor on; by the primary key of counterfoil_stream, counterfoil_event_cause,
-- sqlite_autoindex_counterfoil_outbox_1 and sqlite_autoindex_counterfoil_receipt_1 for each.
SELECT i.rowid, i.stream, i.id, i.kind,
  EXISTS (SELECT 1 FROM counterfoil_event e
    WHERE e.stream = i.stream AND e.cause = i.id AND e.cause IS NOT NULL),
  EXISTS (SELECT 1 FROM counterfoil_outbox o JOIN counterfoil_receipt r ON r.n = o.n
    WHERE o.command_id = i.stream || substr(i.id, 8) AND o.stream = i.stream),
  i.workflow,
  CASE WHEN s.stream IS NULL THEN CASE WHEN i.kind = 'start' THEN i.name END
    WHEN s.status <> 'quarantined' THEN s.workflow || '/' || s.version END
FROM counterfoil_input i
LEFT JOIN counterfoil_stream s ON s.stream = i.stream AND s.workflow IS NOT NULL
WHERE i.rowid > ?1 ORDER BY i.rowid LIMIT ?2;

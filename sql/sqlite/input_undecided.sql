-- by sqlite_autoindex_counterfoil_input_1 and counterfoil_event_cause: one that waits, and is no
-- cause yet.
SELECT i.rowid FROM counterfoil_input i
WHERE i.stream = ?1 AND i.id = ?2 AND NOT EXISTS (SELECT 1 FROM counterfoil_event e
  WHERE e.stream = ?1 AND e.cause = ?2 AND e.cause IS NOT NULL);

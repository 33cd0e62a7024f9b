-- by sqlite_autoindex_counterfoil_input_1 and the primary key of counterfoil_stream: the inputs of
-- a stream, or the one of an id that a person names, and whether a runner decides it: one that is
-- set aside nobody does.
SELECT i.rowid, i.kind, i.name, i.id,
  i.workflow IS NOT NULL AND coalesce(s.status <> 'quarantined', 0)
FROM counterfoil_input i
LEFT JOIN counterfoil_stream s ON s.stream = i.stream AND s.workflow IS NOT NULL
WHERE i.stream = ?1 AND i.id >= ?2 AND (?3 OR i.id = ?2) ORDER BY i.id;

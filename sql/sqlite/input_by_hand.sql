-- by sqlite_autoindex_counterfoil_input_1 and the primary key of counterfoil_stream: an input that
-- a person names, and whether a runner decides it.
SELECT i.rowid, i.kind, i.name, coalesce(s.status <> 'quarantined', 0)
FROM counterfoil_input i
LEFT JOIN counterfoil_stream s ON s.stream = i.stream AND s.workflow IS NOT NULL
WHERE i.stream = ?1 AND i.id = ?2;

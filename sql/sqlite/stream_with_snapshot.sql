-- by the primary key of counterfoil_stream and sqlite_autoindex_counterfoil_snapshot_1.
SELECT s.workflow, s.version, s.status, s.head, p.seq, p.state
FROM (SELECT 1) LEFT JOIN counterfoil_stream s ON s.stream = ?1
LEFT JOIN counterfoil_snapshot p ON p.stream = ?1 AND p.name = ?2 AND p.version = ?3;

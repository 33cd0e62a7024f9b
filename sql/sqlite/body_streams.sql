-- by the primary keys of counterfoil_stream from the cursor on and of counterfoil_event, by
-- counterfoil_event_file and by sqlite_autoindex_counterfoil_snapshot_1: of each workflow when its
-- newest event was recorded, how far its program's saved state reaches, how far it is archived, and
-- whether it begins with a start.
SELECT s.stream, s.status,
  (SELECT e.recorded_at FROM counterfoil_event e WHERE e.stream = s.stream
    ORDER BY e.seq DESC LIMIT 1),
  (SELECT p.seq FROM counterfoil_snapshot p
    WHERE p.stream = s.stream AND p.name = s.workflow AND p.version = s.version),
  coalesce((SELECT max(e.seq) FROM counterfoil_event e INDEXED BY counterfoil_event_file
    WHERE e.stream = s.stream AND e.file IS NOT NULL), 0),
  EXISTS (SELECT 1 FROM counterfoil_event b WHERE b.stream = s.stream AND b.seq = 1
    AND b.kind GLOB 'start:*' AND b.cause IS NOT NULL)
FROM counterfoil_stream s WHERE s.workflow IS NOT NULL AND s.stream >= ?1
ORDER BY s.stream LIMIT ?2;

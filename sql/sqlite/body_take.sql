-- by the primary keys of counterfoil_event and counterfoil_stream, and by
-- sqlite_autoindex_counterfoil_snapshot_1: a body leaves its row, unless its workflow may need it.
UPDATE counterfoil_event SET body = '', file = ?3, digest = ?4
WHERE stream = ?1 AND seq = ?2 AND file IS NULL AND digest IS NULL
  AND EXISTS (SELECT 1 FROM counterfoil_stream s
    WHERE s.stream = ?1 AND s.workflow IS NOT NULL AND (s.status = 'completed'
      OR s.status = 'failed' OR s.status = 'running' AND ?2 <= (
        SELECT p.seq FROM counterfoil_snapshot p
        WHERE p.stream = s.stream AND p.name = s.workflow AND p.version = s.version)));

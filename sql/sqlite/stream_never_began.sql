-- by the primary keys of counterfoil_stream and counterfoil_event: a quarantined workflow, and
-- whether its first event is no start.
SELECT s.workflow, s.version,
  NOT EXISTS (SELECT 1 FROM counterfoil_event b WHERE b.stream = s.stream AND b.seq = 1
    AND b.kind GLOB 'start:*' AND b.cause IS NOT NULL)
FROM counterfoil_stream s
WHERE s.stream = ?1 AND s.workflow IS NOT NULL AND s.status = 'quarantined';

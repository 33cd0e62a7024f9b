-- by the primary keys of counterfoil_stream and counterfoil_event: a quarantined workflow, where it
-- is, its newest event, and whether its first one is no start.
SELECT s.workflow, s.version, s.head,
  coalesce((SELECT max(e.seq) FROM counterfoil_event e WHERE e.stream = s.stream), 0),
  NOT EXISTS (SELECT 1 FROM counterfoil_event b WHERE b.stream = s.stream AND b.seq = 1
    AND b.kind GLOB 'start:*' AND b.cause IS NOT NULL)
FROM counterfoil_stream s
WHERE s.stream = ?1 AND s.workflow IS NOT NULL AND s.status = 'quarantined';

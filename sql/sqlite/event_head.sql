-- by the primary keys of counterfoil_event and counterfoil_stream: the head, and whether the events
-- are a workflow's own to decide. A stream that was a service's before a start came stays its.
SELECT coalesce((SELECT max(seq) FROM counterfoil_event WHERE stream = ?1), s.head, 0),
  s.workflow IS NOT NULL AND NOT (s.status = 'quarantined' AND EXISTS (
    SELECT 1 FROM counterfoil_event b WHERE b.stream = ?1 AND b.seq = 1
      AND NOT (b.kind GLOB 'start:*' AND b.cause IS NOT NULL)))
FROM (SELECT 1) LEFT JOIN counterfoil_stream s ON s.stream = ?1;

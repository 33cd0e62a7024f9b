-- by the primary key of counterfoil_event: whether the first event of a stream is a start.
SELECT EXISTS (SELECT 1 FROM counterfoil_event b WHERE b.stream = ?1 AND b.seq = 1
  AND b.kind GLOB 'start:*' AND b.cause IS NOT NULL);

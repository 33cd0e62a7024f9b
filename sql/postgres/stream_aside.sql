-- by stream_pkey and event_pkey: a workflow, held, whether it is quarantined, and whether its first
-- event is no start.
SELECT s.workflow, s.version, s.status = 'quarantined',
  NOT EXISTS (SELECT 1 FROM cf.event b WHERE b.stream = s.stream AND b.seq = 1
    AND starts_with(b.kind, 'start:') AND (b.cause IS NULL) IS FALSE)
FROM cf.stream s WHERE s.stream = $1::text AND s.workflow IS NOT NULL FOR UPDATE OF s;

-- by stream_pkey and event_pkey: a quarantined workflow, held, where it is, its newest event, and
-- whether its first one is no start.
SELECT s.workflow, s.version, s.head,
  coalesce((SELECT max(e.seq) FROM cf.event e WHERE e.stream = s.stream), 0),
  coalesce((SELECT NOT (starts_with(b.kind, 'start:') AND b.cause IS NOT NULL) FROM cf.event b
    WHERE b.stream = s.stream AND b.seq = 1), true), s.status = 'quarantined'
FROM cf.stream s WHERE s.stream = $1::text AND s.workflow IS NOT NULL FOR UPDATE OF s;

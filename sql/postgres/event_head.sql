-- by event_pkey and stream_pkey: the head, and whether the events are a workflow's own to decide. A
-- stream that was a service's before a start came stays its.
SELECT coalesce((SELECT max(seq) FROM cf.event WHERE stream = $1::text), s.head, 0),
  s.workflow IS NOT NULL AND NOT (s.status = 'quarantined' AND EXISTS (
    SELECT 1 FROM cf.event b WHERE b.stream = $1::text AND b.seq = 1
      AND NOT (starts_with(b.kind, 'start:') AND b.cause IS NOT NULL)))
FROM (SELECT 1) one LEFT JOIN cf.stream s ON s.stream = $1::text;

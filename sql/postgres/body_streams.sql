-- by stream_pkey from the cursor on, event_pkey, event_file and snapshot_pkey: of each workflow its
-- newest event, how far its program's saved state reaches, how far it is archived, and whether it
-- begins with a start.
SELECT s.stream, s.status, n.seq, n.recorded_at,
  (SELECT p.seq FROM cf.snapshot p WHERE p.stream = s.stream AND p.name = s.workflow COLLATE "C"
    AND p.version = s.version),
  coalesce((SELECT e.seq FROM cf.event e WHERE e.stream = s.stream AND e.file IS NOT NULL
    ORDER BY e.seq DESC LIMIT 1), 0),
  EXISTS (SELECT 1 FROM cf.event b WHERE b.stream = s.stream AND b.seq = 1
    AND starts_with(b.kind, 'start:') AND (b.cause IS NULL) IS FALSE)
FROM (SELECT w.stream, w.status, w.workflow, w.version FROM cf.stream w
  WHERE w.workflow IS NOT NULL AND w.stream >= $1::text ORDER BY w.stream LIMIT $2::bigint) s
LEFT JOIN LATERAL (SELECT e.seq, e.recorded_at FROM cf.event e WHERE e.stream = s.stream
  ORDER BY e.seq DESC LIMIT 1) n ON true
ORDER BY s.stream;

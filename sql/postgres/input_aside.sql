-- by input_aside from the cursor on, then stream_pkey and input_pkey: what waits for nobody, whom
-- it may wait for now, and whether a start waits before it.
SELECT i.stream, i.id, i.kind, i.name, i.due_at, i.recorded_at, s.workflow,
  cf.waits_for(i.kind, i.name, s.workflow, s.version, s.status),
  EXISTS (SELECT 1 FROM cf.input b WHERE b.stream = i.stream AND b.kind = 'start'),
  (SELECT cf.micros())
FROM (SELECT a.* FROM cf.input a
  WHERE a.workflow IS NULL AND (a.stream, a.id) > ($1::text, $2::text)
  ORDER BY a.stream, a.id LIMIT $3::bigint) i
LEFT JOIN cf.stream s ON s.stream = i.stream
ORDER BY i.stream, i.id;

-- by input_aside from the cursor on, then stream_pkey and input_pkey: what waits for nobody, whom
-- it may wait for now, and whether a start waits before it.
SELECT i.stream, i.id, i.kind, i.name, i.due_at, i.recorded_at, s.workflow,
  cf.waits_for(i.kind, i.name, s.workflow, s.version, s.status),
  EXISTS (SELECT 1 FROM cf.input b WHERE b.stream = i.stream AND b.kind = 'start' OFFSET 0)
FROM (SELECT a.stream, a.id, a.kind, a.name, a.due_at, a.recorded_at FROM cf.input a
  WHERE a.workflow IS NULL AND (a.stream, a.id) > ($1::text, $2::text)
  ORDER BY a.stream, a.id LIMIT $3::bigint) i
LEFT JOIN LATERAL (SELECT w.workflow, w.version, w.status FROM cf.stream w
  WHERE w.stream = i.stream LIMIT 1) s ON true
ORDER BY i.stream, i.id;

-- by input_aside from the cursor on, then stream_pkey and input_pkey: what waits for a workflow of
-- which neither a row nor a start stands.
SELECT i.stream, i.id, i.kind, i.name, i.due_at, i.recorded_at, false
FROM cf.input i
WHERE i.workflow IS NULL AND (i.stream, i.id) > ($1::text, $2::text)
  AND NOT EXISTS (SELECT 1 FROM cf.stream s
    WHERE s.stream = i.stream AND s.workflow IS NOT NULL OFFSET 0)
  AND NOT EXISTS (SELECT 1 FROM cf.input b
    WHERE b.stream = i.stream AND b.kind = 'start' OFFSET 0)
ORDER BY i.stream, i.id LIMIT $3::bigint;

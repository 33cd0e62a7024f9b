-- by event_pkey, event_cause and input_pkey: what stands of a stream without a workflow, and the
-- name of a start that waits.
SELECT coalesce((SELECT max(seq) FROM cf.event WHERE stream = $1::text), 0),
  (SELECT name FROM cf.input WHERE stream = $1::text AND kind = 'start' ORDER BY id LIMIT 1)
WHERE EXISTS (SELECT 1 FROM cf.event WHERE stream = $1::text AND cause IS NOT NULL)
  OR EXISTS (SELECT 1 FROM cf.input WHERE stream = $1::text);

-- by event_pkey, event_cause and input_pkey: what stands of a stream without a workflow, and the
-- first start that waits, by its name and since when.
SELECT coalesce((SELECT max(seq) FROM cf.event WHERE stream = $1::text), 0), i.name, i.recorded_at
FROM (SELECT 1) AS one
LEFT JOIN LATERAL (SELECT name, recorded_at FROM cf.input
  WHERE stream = $1::text AND kind = 'start' ORDER BY arrival LIMIT 1) i ON true
WHERE EXISTS (SELECT 1 FROM cf.event WHERE stream = $1::text AND cause IS NOT NULL)
  OR EXISTS (SELECT 1 FROM cf.input WHERE stream = $1::text);

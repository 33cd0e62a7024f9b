-- by input_due in the order of arrival, and by stream_pkey: what waits for a program at once, from
-- an arrival on, and whether its workflow has ended.
SELECT i.stream, i.id, i.arrival, coalesce(s.status IN ('completed', 'failed'), false)
FROM (SELECT w.stream, w.id, w.due_at, w.arrival FROM cf.input w
  WHERE w.workflow = $1::text AND w.workflow IS NOT NULL AND w.due_at IS NULL
    AND w.arrival > $2::bigint
  ORDER BY w.due_at NULLS FIRST, w.arrival LIMIT $3::bigint) i
LEFT JOIN LATERAL (SELECT h.status FROM cf.stream h
  WHERE h.stream = i.stream AND h.workflow IS NOT NULL LIMIT 1) s ON true
ORDER BY i.arrival;

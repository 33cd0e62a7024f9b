-- by stream_status, by input_due, one row a program that is waited for, then what waits for it, and
-- by input_aside with stream_pkey and input_pkey, each stream once: what of workflows stands still.
-- What waits for a name alone is a start.
WITH RECURSIVE names AS (
  (SELECT i.workflow AS name FROM cf.input i WHERE i.workflow > '' ORDER BY i.workflow LIMIT 1)
  UNION ALL
  SELECT (SELECT i.workflow FROM cf.input i WHERE i.workflow > n.name
    ORDER BY i.workflow LIMIT 1)
  FROM names n WHERE n.name IS NOT NULL
),
starts AS (
  SELECT count(*) AS number, min(w.recorded_at) AS oldest
  FROM names n
  CROSS JOIN LATERAL (SELECT i.recorded_at FROM cf.input i
    WHERE i.workflow = n.name AND i.workflow IS NOT NULL AND i.due_at IS NULL OFFSET 0) w
  WHERE strpos(n.name, '/') = 0
),
aside AS MATERIALIZED (
  SELECT i.stream, count(*) AS number FROM cf.input i WHERE i.workflow IS NULL GROUP BY i.stream
)
SELECT
  (SELECT count(*) FROM cf.stream
    WHERE status = 'quarantined' AND status <> 'completed' AND workflow IS NOT NULL),
  starts.number, starts.oldest,
  (SELECT coalesce(sum(a.number), 0)::bigint FROM aside a
    WHERE NOT EXISTS (SELECT 1 FROM cf.stream s
        WHERE s.stream = a.stream AND s.workflow IS NOT NULL OFFSET 0)
      AND NOT EXISTS (SELECT 1 FROM cf.input b
        WHERE b.stream = a.stream AND b.kind = 'start' OFFSET 0))
FROM starts;

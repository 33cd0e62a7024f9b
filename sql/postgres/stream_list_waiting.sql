-- by input_due, one row a program that is waited for, then what waits for it: the first start of
-- each stream that waits. What waits for a name alone is a start.
WITH RECURSIVE names AS (
  (SELECT i.workflow AS name FROM cf.input i WHERE i.workflow > '' ORDER BY i.workflow LIMIT 1)
  UNION ALL
  SELECT (SELECT i.workflow FROM cf.input i WHERE i.workflow > n.name
    ORDER BY i.workflow LIMIT 1)
  FROM names n WHERE n.name IS NOT NULL
)
SELECT DISTINCT ON (i.stream) i.stream, i.workflow, i.recorded_at
FROM names n
CROSS JOIN LATERAL (SELECT w.stream, w.workflow, w.recorded_at, w.arrival FROM cf.input w
  WHERE w.workflow = n.name AND w.workflow IS NOT NULL AND w.due_at IS NULL
    AND (w.stream > $1::text) IS TRUE OFFSET 0) i
WHERE strpos(n.name, '/') = 0 AND ($2::text IS NULL OR n.name = $2::text)
ORDER BY i.stream, i.arrival LIMIT $3::bigint;

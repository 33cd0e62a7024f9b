-- by counterfoil_stream_status, by counterfoil_input_due, by scan of names, those of the programs
-- that are waited for, and by counterfoil_input_aside with the primary key of counterfoil_stream
-- and sqlite_autoindex_counterfoil_input_1, each stream once: what of workflows stands still. What
-- waits for a name alone is a start.
WITH RECURSIVE names(name) AS (
  SELECT min(i.workflow) FROM counterfoil_input i WHERE i.workflow IS NOT NULL
  UNION ALL
  SELECT (SELECT min(i.workflow) FROM counterfoil_input i WHERE i.workflow > names.name)
  FROM names WHERE names.name IS NOT NULL
),
starts(number, oldest) AS (
  SELECT count(*), min(i.recorded_at)
  FROM names CROSS JOIN counterfoil_input i ON i.workflow = names.name
  WHERE instr(names.name, '/') = 0 AND i.due_at IS NULL
),
aside(stream, number) AS (
  SELECT i.stream, count(*) FROM counterfoil_input i WHERE i.workflow IS NULL GROUP BY i.stream
)
SELECT
  (SELECT count(*) FROM counterfoil_stream
    WHERE status = 'quarantined' AND status <> 'completed' AND workflow IS NOT NULL),
  starts.number, starts.oldest,
  (SELECT coalesce(sum(aside.number), 0) FROM aside
    WHERE NOT EXISTS (SELECT 1 FROM counterfoil_stream s
        WHERE s.stream = aside.stream AND s.workflow IS NOT NULL)
      AND NOT EXISTS (SELECT 1 FROM counterfoil_input b
        WHERE b.stream = aside.stream AND b.kind = 'start'))
FROM starts;

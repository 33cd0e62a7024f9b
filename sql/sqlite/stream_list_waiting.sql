-- by counterfoil_input_due, by scan of names, those of the programs that are waited for: the first
-- start of each stream that waits. What waits for a name alone is a start.
WITH RECURSIVE names(name) AS (
  SELECT min(i.workflow) FROM counterfoil_input i WHERE i.workflow IS NOT NULL
  UNION ALL
  SELECT (SELECT min(i.workflow) FROM counterfoil_input i WHERE i.workflow > names.name)
  FROM names WHERE names.name IS NOT NULL
)
SELECT i.stream, i.workflow, i.recorded_at, min(i.rowid)
FROM names CROSS JOIN counterfoil_input i ON i.workflow = names.name
WHERE instr(names.name, '/') = 0 AND i.due_at IS NULL AND i.stream > ?1
  AND (?2 IS NULL OR i.workflow = ?2)
GROUP BY i.stream ORDER BY i.stream LIMIT ?3;

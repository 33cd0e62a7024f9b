-- by sqlite_autoindex_counterfoil_input_1: whether a workflow has a timer behind this one, by its
-- time and its arrival, that was due before this time.
SELECT 1 FROM counterfoil_input i
WHERE i.stream = ?1 AND i.id >= 'timer:' AND i.id < 'timer;' AND i.workflow IS NOT NULL
  AND i.due_at < ?4 AND (i.due_at, +i.rowid) > (?2, ?3) LIMIT 1;

-- by sqlite_autoindex_counterfoil_input_1: the timers that wait for a workflow.
SELECT i.id, i.due_at FROM counterfoil_input i
WHERE i.stream = ?1 AND i.id >= 'timer:' AND i.id < 'timer;' ORDER BY i.id;

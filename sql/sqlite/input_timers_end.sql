-- by sqlite_autoindex_counterfoil_input_1: the timers of a workflow that has ended.
DELETE FROM counterfoil_input
WHERE stream = ?1 AND id >= 'timer:' AND id < 'timer;' AND kind = 'timer';

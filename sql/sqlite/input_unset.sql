-- by sqlite_autoindex_counterfoil_input_1: a timer that has gone is no error.
DELETE FROM counterfoil_input WHERE stream = ?1 AND id = ?2 AND kind = 'timer';

-- by sqlite_autoindex_counterfoil_input_1: an input as it waits.
SELECT kind, name, body FROM counterfoil_input WHERE stream = ?1 AND id = ?2;

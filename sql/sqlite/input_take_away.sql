-- by sqlite_autoindex_counterfoil_input_1: one that no workflow can decide.
DELETE FROM counterfoil_input WHERE stream = ?1 AND id = ?2 RETURNING kind, name;

-- by sqlite_autoindex_counterfoil_outbox_1: generated ids begin with stream and seq.
SELECT count(*) FROM counterfoil_outbox
WHERE command_id >= ?1 AND command_id < ?2 AND stream = ?3 AND seq = ?4;

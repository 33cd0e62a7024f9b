-- by sqlite_autoindex_counterfoil_outbox_1.
SELECT n FROM counterfoil_outbox WHERE command_id = ?1;

-- by sqlite_autoindex_counterfoil_outbox_1: what a report must know of its command.
SELECT n, stream IS NOT NULL FROM counterfoil_outbox WHERE command_id = ?1;

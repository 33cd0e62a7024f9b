-- by sqlite_autoindex_counterfoil_outbox_1: what an act must know of its command.
SELECT n, destination, ordering_key, expires_at, erased_at IS NOT NULL, stream IS NOT NULL
FROM counterfoil_outbox WHERE command_id = ?1;

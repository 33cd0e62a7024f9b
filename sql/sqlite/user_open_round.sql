-- by sqlite_autoindex_counterfoil_outbox_1, then by rowid.
SELECT d.round FROM counterfoil_outbox o JOIN counterfoil_delivery d ON d.n = o.n
WHERE o.command_id = ?1;

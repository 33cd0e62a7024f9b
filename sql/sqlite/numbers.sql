-- by sqlite_autoindex_counterfoil_outbox_1 and the primary key of counterfoil_archived.
SELECT coalesce((SELECT n FROM counterfoil_outbox WHERE command_id = ?1),
  (SELECT 0 FROM counterfoil_archived WHERE command_id = ?1));

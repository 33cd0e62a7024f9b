-- by sqlite_autoindex_counterfoil_outbox_1 and the primary key of counterfoil_archived.
SELECT EXISTS (SELECT 1 FROM counterfoil_outbox WHERE command_id = ?1)
  OR EXISTS (SELECT 1 FROM counterfoil_archived WHERE command_id = ?1);

-- by counterfoil_contradiction_command, of the newest round by the primary key of
-- counterfoil_archived, sqlite_autoindex_counterfoil_outbox_1 and
-- sqlite_autoindex_counterfoil_receipt_1.
SELECT 1 FROM counterfoil_contradiction
WHERE command_id = ?1 AND outcome = ?2 AND result IS ?3 AND evidence = ?4
  AND round = coalesce(
    (SELECT max(r.round) FROM counterfoil_outbox o JOIN counterfoil_receipt r ON r.n = o.n
      WHERE o.command_id = ?1),
    (SELECT rounds FROM counterfoil_archived WHERE command_id = ?1));

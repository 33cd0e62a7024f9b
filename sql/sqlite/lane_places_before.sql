-- by counterfoil_outbox_lane, nearest first, then by rowid and by
-- sqlite_autoindex_counterfoil_receipt_1: the places of those recorded before a command.
SELECT coalesce((SELECT d.key_seq FROM counterfoil_delivery d WHERE d.n = o.n),
  (SELECT r.key_seq FROM counterfoil_receipt r WHERE r.n = o.n ORDER BY r.round DESC LIMIT 1))
FROM counterfoil_outbox o
WHERE o.ordering_key IS NOT NULL AND o.destination = ?1 AND o.ordering_key = ?2 AND o.n < ?3
ORDER BY o.n DESC;

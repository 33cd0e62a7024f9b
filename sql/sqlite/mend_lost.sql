-- by sqlite_autoindex_counterfoil_outbox_1, rowid of delivery, sqlite_autoindex_counterfoil_receipt_1
-- and counterfoil_attempt_n: a command that is neither open nor ended, and its newest token.
SELECT o.n, o.destination, o.ordering_key,
  (SELECT max(a.token) FROM counterfoil_attempt a WHERE a.n = o.n)
FROM counterfoil_outbox o WHERE o.command_id = ?1
  AND NOT EXISTS (SELECT 1 FROM counterfoil_delivery d WHERE d.n = o.n)
  AND NOT EXISTS (SELECT 1 FROM counterfoil_receipt r WHERE r.n = o.n);

-- by outbox_command_id_key, delivery_pkey, receipt_pkey and attempt_n: which of these commands have
-- neither a delivery nor a receipt, and the newest token that their attempts tell.
SELECT o.n, o.command_id, o.destination, o.ordering_key,
  (SELECT coalesce(max(a.token), 0) FROM cf.attempt a WHERE a.n = o.n)
FROM cf.outbox o
WHERE o.command_id = ANY($1::text[])
  AND NOT EXISTS (SELECT 1 FROM cf.delivery d WHERE d.n = o.n)
  AND NOT EXISTS (SELECT 1 FROM cf.receipt r WHERE r.n = o.n)
ORDER BY o.n FOR UPDATE OF o;

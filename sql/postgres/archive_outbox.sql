-- by outbox_pkey and archived_pkey: behind the receipts, what nobody else holds, and what has no
-- tombstone yet.
SELECT o.n FROM cf.outbox o
WHERE o.n = ANY($1::bigint[])
  AND NOT EXISTS (SELECT 1 FROM cf.archived a WHERE a.command_id = o.command_id)
ORDER BY o.n FOR UPDATE OF o SKIP LOCKED;

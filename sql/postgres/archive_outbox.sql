-- by outbox_pkey, archived_pkey, stream_pkey and input_pkey: behind the receipts, what nobody else
-- holds, what has no tombstone yet, and of a workflow what it will never look at again.
SELECT o.n FROM cf.outbox o
WHERE o.n = ANY($1::bigint[])
  AND NOT EXISTS (SELECT 1 FROM cf.archived a WHERE a.command_id = o.command_id)
  AND NOT EXISTS (SELECT 1 FROM cf.stream s WHERE s.stream = o.stream AND s.workflow IS NOT NULL
    AND ((s.status = 'completed' OR s.status = 'failed') IS NOT TRUE
      OR EXISTS (SELECT 1 FROM cf.input i WHERE i.stream = o.stream)))
ORDER BY o.n FOR UPDATE OF o SKIP LOCKED;

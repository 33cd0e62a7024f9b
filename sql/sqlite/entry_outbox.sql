-- by rowid of the outbox and of delivery, and the primary key of counterfoil_stream: of what is open
-- there is no row.
SELECT o.n, o.command_id, o.stream, o.seq, o.idx, o.destination, o.kind, o.ordering_key, o.body,
  o.content_type, o.headers, o.core_digest, o.not_before, o.expires_at, o.recorded_at, o.erased_at,
  EXISTS (SELECT 1 FROM counterfoil_stream s WHERE s.stream = o.stream AND s.workflow IS NOT NULL)
FROM counterfoil_outbox o
WHERE o.n = ?1 AND NOT EXISTS (SELECT 1 FROM counterfoil_delivery d WHERE d.n = o.n);

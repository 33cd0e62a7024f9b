-- by rowid of the outbox and of delivery, the primary key of counterfoil_stream and
-- sqlite_autoindex_counterfoil_input_1: of what is open there is no row. A workflow keeps its
-- commands until it has ended and every input is decided.
SELECT o.n, o.command_id, o.stream, o.seq, o.idx, o.destination, o.kind, o.ordering_key, o.body,
  o.content_type, o.headers, o.core_digest, o.not_before, o.expires_at, o.recorded_at, o.erased_at,
  EXISTS (SELECT 1 FROM counterfoil_stream s WHERE s.stream = o.stream AND s.workflow IS NOT NULL
    AND ((s.status = 'completed' OR s.status = 'failed') IS NOT TRUE
      OR EXISTS (SELECT 1 FROM counterfoil_input i WHERE i.stream = o.stream)))
FROM counterfoil_outbox o
WHERE o.n = ?1 AND NOT EXISTS (SELECT 1 FROM counterfoil_delivery d WHERE d.n = o.n);

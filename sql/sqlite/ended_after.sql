-- by rowid of the outbox from the cursor on, and for each row by rowid of delivery,
-- sqlite_autoindex_counterfoil_receipt_1, the primary key of counterfoil_stream and
-- sqlite_autoindex_counterfoil_input_1: a workflow keeps its commands until it has ended and every
-- input is decided. It names no column behind the body, which may be long.
SELECT o.n,
  EXISTS (SELECT 1 FROM counterfoil_delivery d WHERE d.n = o.n),
  (SELECT r.recorded_at FROM counterfoil_receipt r WHERE r.n = o.n ORDER BY r.round DESC LIMIT 1),
  EXISTS (SELECT 1 FROM counterfoil_stream s WHERE s.stream = o.stream AND s.workflow IS NOT NULL
    AND ((s.status = 'completed' OR s.status = 'failed') IS NOT TRUE
      OR EXISTS (SELECT 1 FROM counterfoil_input i WHERE i.stream = o.stream)))
FROM counterfoil_outbox o WHERE o.n > ?1 ORDER BY o.n LIMIT ?2;

-- by counterfoil_stream_status from the cursor on, and by the primary key of counterfoil_event: its
-- newest one, its first one, and backwards to the one that ended it, of a workflow that runs the
-- newest hundred.
SELECT s.stream, s.workflow, s.status, s.head,
  coalesce((SELECT max(e.seq) FROM counterfoil_event e WHERE e.stream = s.stream), 0),
  (SELECT CASE WHEN e.cause IS NULL THEN '' ELSE e.kind END FROM counterfoil_event e
    WHERE e.stream = s.stream AND e.seq = 1),
  (SELECT e.decided FROM counterfoil_event e
    WHERE e.stream = s.stream AND instr(e.decided, '"end":{') > 0
      AND e.seq > CASE WHEN s.status = 'failed' THEN 0 ELSE s.head - 100 END
    ORDER BY e.seq DESC LIMIT 1),
  s.reason IS NOT NULL, s.input IS NOT NULL,
  s.lease_owner IS NOT NULL OR s.lease_until IS NOT NULL
FROM counterfoil_stream s
WHERE s.status <> 'completed' AND s.workflow IS NOT NULL
  AND (s.status, s.stream) > (coalesce(?1, ''), coalesce(?2, ''))
ORDER BY s.status, s.stream LIMIT ?3;

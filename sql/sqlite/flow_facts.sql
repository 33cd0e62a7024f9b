-- by the primary key of counterfoil_stream, and by that of counterfoil_event: its newest one, its
-- first one, and backwards to the one that ended it, of a workflow that runs the newest hundred.
SELECT s.stream, s.workflow, s.status, s.head,
  coalesce((SELECT max(e.seq) FROM counterfoil_event e WHERE e.stream = s.stream), 0),
  (SELECT CASE WHEN e.cause IS NULL THEN '' ELSE e.kind END FROM counterfoil_event e
    WHERE e.stream = s.stream AND e.seq = 1),
  (SELECT e.decided FROM counterfoil_event e
    WHERE e.stream = s.stream AND instr(e.decided, '"end":{') > 0
      AND e.seq > CASE WHEN s.status = 'completed' OR s.status = 'failed' THEN 0
        ELSE s.head - 100 END
    ORDER BY e.seq DESC LIMIT 1),
  s.reason IS NOT NULL, s.input IS NOT NULL,
  s.lease_owner IS NOT NULL OR s.lease_until IS NOT NULL
FROM counterfoil_stream s WHERE s.workflow IS NOT NULL AND s.stream >= coalesce(?1, '')
  AND s.stream IS NOT ?1
ORDER BY s.stream LIMIT ?2;

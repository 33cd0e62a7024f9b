-- by the primary key of counterfoil_stream, and by that of counterfoil_event: its newest one, and
-- backwards to the one that ended it, of a workflow that runs the newest hundred.
SELECT s.stream, s.status, s.head,
  coalesce((SELECT max(e.seq) FROM counterfoil_event e WHERE e.stream = s.stream), 0),
  (SELECT e.decided FROM counterfoil_event e
    WHERE e.stream = s.stream AND instr(e.decided, '"end":{') > 0
      AND e.seq > CASE WHEN s.status = 'completed' OR s.status = 'failed' THEN 0
        ELSE s.head - 100 END
    ORDER BY e.seq DESC LIMIT 1)
FROM counterfoil_stream s WHERE s.workflow IS NOT NULL AND s.stream > ?1
ORDER BY s.stream LIMIT ?2;

-- by stream_pkey from the cursor on, and by event_pkey: the newest event of each workflow, its
-- first one, and backwards to the one that ended it, of a workflow that runs the newest hundred.
SELECT s.stream, s.workflow, s.status, s.head,
  coalesce((SELECT e.seq FROM cf.event e WHERE e.stream = s.stream ORDER BY e.seq DESC LIMIT 1), 0),
  (SELECT CASE WHEN e.cause IS NULL THEN '' ELSE e.kind END FROM cf.event e
    WHERE e.stream = s.stream AND e.seq = 1),
  (SELECT e.decided FROM cf.event e
    WHERE e.stream = s.stream AND strpos(e.decided, '"end":{') > 0
      AND e.seq > CASE WHEN s.status = 'completed' OR s.status = 'failed' THEN 0
        ELSE s.head - 100 END
    ORDER BY e.seq DESC LIMIT 1),
  s.reason IS NOT NULL, s.input IS NOT NULL,
  s.lease_owner IS NOT NULL OR s.lease_until IS NOT NULL
FROM cf.stream s WHERE s.workflow IS NOT NULL AND s.stream >= coalesce($1::text, '')
  AND s.stream IS DISTINCT FROM $1::text
ORDER BY s.stream LIMIT $2::bigint;

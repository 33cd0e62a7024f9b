-- by input_pkey from the cursor on; by event_cause, outbox_command_id_key, receipt_pkey and
-- stream_pkey for each. What a transaction of an old snapshot sent again is taken away by who meets
-- it, and is not told as decided.
SELECT i.stream, i.id, i.kind, i.name, i.due_at, i.body IS NOT NULL,
  EXISTS (SELECT 1 FROM cf.event e WHERE e.stream = i.stream AND e.cause = i.id
    AND e.cause IS NOT NULL AND (i.kind IN ('start', 'signal', 'cancel')
      AND e.kind = i.kind || ':' || i.name AND e.body = coalesce(i.body, '')) IS NOT TRUE OFFSET 0),
  EXISTS (SELECT 1 FROM cf.outbox o CROSS JOIN LATERAL (SELECT 1 FROM cf.receipt r
      WHERE r.n = o.n AND r.outcome = i.name LIMIT 1) ended
    WHERE o.command_id = i.stream || substr(i.id, 8) AND o.stream = i.stream OFFSET 0),
  i.workflow, s.program
FROM (SELECT w.stream, w.id, w.kind, w.name, w.due_at, w.body, w.workflow FROM cf.input w
  WHERE (w.stream, w.id) > ($1::text, $2::text)
  ORDER BY w.stream, w.id LIMIT $3::bigint) i
LEFT JOIN LATERAL (SELECT w.workflow || '/' || w.version AS program FROM cf.stream w
  WHERE w.stream = i.stream AND w.workflow IS NOT NULL LIMIT 1) s ON true
ORDER BY i.stream, i.id;

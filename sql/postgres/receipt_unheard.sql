-- by stream_pkey, receipt_pkey, event_pkey, event_cause and input_pkey, each looked up by its key:
-- which of these commands are a workflow's and have a receipt of which it never heard.
SELECT g.place FROM unnest($1::bigint[], $2::text[], $3::text[]) WITH ORDINALITY
  AS g(n, stream, input, place)
CROSS JOIN LATERAL (SELECT FROM cf.stream w
  WHERE w.stream = g.stream AND w.workflow IS NOT NULL LIMIT 1) s
CROSS JOIN LATERAL (SELECT FROM cf.receipt r WHERE r.n = g.n LIMIT 1) ended
CROSS JOIN LATERAL (SELECT FROM cf.event b
  WHERE b.stream = g.stream AND b.seq = 1 AND starts_with(b.kind, 'start:') LIMIT 1) begun
WHERE NOT EXISTS (SELECT 1 FROM cf.input i WHERE i.stream = g.stream AND i.id = g.input OFFSET 0)
  AND NOT EXISTS (SELECT 1 FROM cf.event e
    WHERE e.stream = g.stream AND e.cause = g.input AND e.cause IS NOT NULL OFFSET 0)
ORDER BY g.place;

-- by input_pkey and event_cause, each looked up by its key: which of these wait, and are no cause
-- yet.
SELECT g.stream, g.id FROM unnest($1::text[], $2::text[]) AS g(stream, id)
WHERE EXISTS (SELECT 1 FROM cf.input i WHERE i.stream = g.stream AND i.id = g.id OFFSET 0)
  AND NOT EXISTS (SELECT 1 FROM cf.event e
    WHERE e.stream = g.stream AND e.cause = g.id AND e.cause IS NOT NULL OFFSET 0);

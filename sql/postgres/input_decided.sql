-- by input_pkey and event_cause: what was inserted again by a transaction that could not see it
-- decided.
DELETE FROM cf.input i USING unnest($1::text[], $2::text[]) AS g(stream, id)
WHERE i.stream = g.stream AND i.id = g.id AND EXISTS (SELECT 1 FROM cf.event e
  WHERE e.stream = g.stream AND e.cause = g.id AND e.cause IS NOT NULL);

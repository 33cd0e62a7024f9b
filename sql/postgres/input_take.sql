-- by input_pkey and event_cause: inputs that are decided, if they wait and are no cause yet.
DELETE FROM cf.input i USING unnest($1::text[], $2::text[]) AS g(stream, id)
WHERE i.stream = g.stream AND i.id = g.id AND NOT EXISTS (SELECT 1 FROM cf.event e
  WHERE e.stream = g.stream AND e.cause = g.id AND e.cause IS NOT NULL)
RETURNING i.id;

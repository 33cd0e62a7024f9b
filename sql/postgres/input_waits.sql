-- by input_pkey and event_cause: which of these wait, and are no cause yet.
SELECT i.stream, i.id FROM unnest($1::text[], $2::text[]) AS g(stream, id)
JOIN cf.input i ON i.stream = g.stream AND i.id = g.id
WHERE NOT EXISTS (SELECT 1 FROM cf.event e
  WHERE e.stream = g.stream AND e.cause = g.id AND e.cause IS NOT NULL);

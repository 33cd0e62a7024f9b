-- by input_pkey and event_cause, each looked up by its key: inputs that are decided, if they wait
-- and are no cause yet.
DELETE FROM cf.input i WHERE i.ctid = ANY(ARRAY(
  SELECT held.place FROM unnest($1::text[], $2::text[]) AS g(stream, id)
  CROSS JOIN LATERAL (SELECT w.ctid AS place FROM cf.input w
    WHERE w.stream = g.stream AND w.id = g.id LIMIT 1 FOR UPDATE OF w) held
  WHERE NOT EXISTS (SELECT 1 FROM cf.event e
    WHERE e.stream = g.stream AND e.cause = g.id AND e.cause IS NOT NULL OFFSET 0)))
RETURNING i.id;

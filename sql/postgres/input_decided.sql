-- by input_pkey and event_cause, each looked up by its key: what was inserted again by a
-- transaction that could not see it decided.
DELETE FROM cf.input i WHERE i.ctid = ANY(ARRAY(
  SELECT held.place FROM unnest($1::text[], $2::text[]) AS g(stream, id)
  CROSS JOIN LATERAL (SELECT w.ctid AS place FROM cf.input w
    WHERE w.stream = g.stream AND w.id = g.id LIMIT 1 FOR UPDATE OF w) held
  WHERE EXISTS (SELECT 1 FROM cf.event e
    WHERE e.stream = g.stream AND e.cause = g.id AND e.cause IS NOT NULL OFFSET 0)));

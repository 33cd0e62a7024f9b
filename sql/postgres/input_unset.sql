-- by input_pkey, looked up by its key: a timer that has gone is no error.
DELETE FROM cf.input i WHERE i.ctid = ANY(ARRAY(
  SELECT held.place FROM unnest($1::text[], $2::text[]) AS g(stream, id)
  CROSS JOIN LATERAL (SELECT w.ctid AS place FROM cf.input w
    WHERE w.stream = g.stream AND w.id = g.id AND w.kind = 'timer' LIMIT 1 FOR UPDATE OF w) held));

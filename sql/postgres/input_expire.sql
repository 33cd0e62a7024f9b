-- by input_pkey and stream_pkey, each looked up by its key: orphans that are too old by now, but
-- for starts and what a start waits before; what another transaction holds is left alone.
DELETE FROM cf.input i WHERE i.ctid = ANY(ARRAY(
  SELECT held.place FROM unnest($1::text[], $2::text[]) AS g(stream, id)
  CROSS JOIN LATERAL (SELECT o.ctid AS place FROM cf.input o
    WHERE o.stream = g.stream AND o.id = g.id AND (o.workflow IS NULL) IS TRUE
      AND o.kind <> 'start' AND o.recorded_at <= $3::bigint
    LIMIT 1 FOR UPDATE OF o SKIP LOCKED) held
  WHERE NOT EXISTS (SELECT 1 FROM cf.stream s
      WHERE s.stream = g.stream AND s.workflow IS NOT NULL OFFSET 0)
    AND NOT EXISTS (SELECT 1 FROM cf.input b
      WHERE b.stream = g.stream AND b.kind = 'start' OFFSET 0)))
RETURNING i.stream, i.id, i.kind, i.name;

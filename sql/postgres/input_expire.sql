-- by input_pkey and stream_pkey: orphans that are too old by now, but for starts and what a start
-- waits before; what another transaction holds is left alone.
WITH free AS MATERIALIZED (
  SELECT i.stream, i.id FROM unnest($1::text[], $2::text[]) AS g(stream, id)
  JOIN cf.input i ON i.stream = g.stream AND i.id = g.id
  WHERE i.workflow IS NULL AND i.kind <> 'start' AND i.recorded_at <= $3::bigint
    AND NOT EXISTS (SELECT 1 FROM cf.stream s
      WHERE s.stream = i.stream AND s.workflow IS NOT NULL)
    AND NOT EXISTS (SELECT 1 FROM cf.input b WHERE b.stream = i.stream AND b.kind = 'start')
  ORDER BY i.stream, i.id FOR UPDATE OF i SKIP LOCKED
)
DELETE FROM cf.input i USING free f WHERE i.stream = f.stream AND i.id = f.id
RETURNING i.stream, i.id, i.kind, i.name;

-- by input_pkey and stream_pkey: these inputs wait for whom they should by now, or, where they
-- cannot be read, for nobody; what another transaction holds is left alone.
WITH free AS MATERIALIZED (
  SELECT i.stream, i.id, g.is_readable FROM unnest($1::text[], $2::text[], $3::bool[])
    AS g(stream, id, is_readable)
  JOIN cf.input i ON i.stream = g.stream AND i.id = g.id
  ORDER BY i.stream, i.id FOR UPDATE OF i SKIP LOCKED
),
should AS MATERIALIZED (
  SELECT f.stream, f.id, CASE WHEN f.is_readable
    THEN cf.waits_for(i.kind, i.name, s.workflow, s.version, s.status) END AS workflow
  FROM free f JOIN cf.input i ON i.stream = f.stream AND i.id = f.id
  LEFT JOIN cf.stream s ON s.stream = f.stream
)
UPDATE cf.input i SET workflow = m.workflow FROM should m
WHERE i.stream = m.stream AND i.id = m.id AND i.workflow IS DISTINCT FROM m.workflow
RETURNING i.workflow IS NOT NULL;

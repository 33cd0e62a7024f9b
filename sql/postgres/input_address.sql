-- by input_pkey and stream_pkey, each looked up by its key: these inputs wait for whom they should
-- by now, or, where they cannot be read, for nobody; what another transaction holds is left alone.
WITH free AS MATERIALIZED (
  SELECT held.place, CASE WHEN g.is_readable
    THEN cf.waits_for(held.kind, held.name, s.workflow, s.version, s.status) END AS workflow
  FROM unnest($1::text[], $2::text[], $3::bool[]) AS g(stream, id, is_readable)
  CROSS JOIN LATERAL (SELECT i.ctid AS place, i.kind, i.name FROM cf.input i
    WHERE i.stream = g.stream AND i.id = g.id LIMIT 1 FOR UPDATE OF i SKIP LOCKED) held
  LEFT JOIN LATERAL (SELECT w.workflow, w.version, w.status FROM cf.stream w
    WHERE w.stream = g.stream LIMIT 1) s ON true
)
UPDATE cf.input i SET workflow = (SELECT f.workflow FROM free f WHERE f.place = i.ctid)
WHERE i.ctid = ANY(ARRAY(SELECT f.place FROM free f))
  AND i.workflow IS DISTINCT FROM (SELECT f.workflow FROM free f WHERE f.place = i.ctid)
RETURNING i.workflow IS NOT NULL;

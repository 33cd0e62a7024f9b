-- by stream_pkey and event_cause, each looked up by its key, and by input_pkey, which answers a
-- repeat with no row inserted: what is new, numbered in the order given and locked in the order of
-- ids. A twin in flight is waited for. The workflow's row is read, never locked.
WITH given AS MATERIALIZED (
  SELECT nextval('cf.input_arrival_seq'::regclass) AS arrival, f.* FROM (
    SELECT g.* FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bytea[])
      WITH ORDINALITY AS g(stream, id, kind, name, body, place)
    WHERE NOT EXISTS (SELECT 1 FROM cf.event e
      WHERE e.stream = g.stream AND e.cause = g.id AND e.cause IS NOT NULL OFFSET 0)
    ORDER BY g.place
  ) f
)
INSERT INTO cf.input(arrival, stream, id, kind, name, body, workflow, recorded_at)
OVERRIDING SYSTEM VALUE
SELECT g.arrival, g.stream, g.id, g.kind, g.name, g.body,
  cf.waits_for(g.kind, g.name, s.workflow, s.version, s.status), (SELECT cf.micros())
FROM given g
LEFT JOIN LATERAL (SELECT w.workflow, w.version, w.status FROM cf.stream w
  WHERE w.stream = g.stream LIMIT 1) s ON true
ORDER BY g.stream, g.id
ON CONFLICT (stream, id) DO NOTHING RETURNING stream, id;

-- by stream_pkey and event_pkey, looked up by its key: workflows that begin, where neither one nor
-- an event stands. Who comes second waits for the first.
WITH told AS MATERIALIZED (SELECT cf.micros() AS now)
INSERT INTO cf.stream(stream, workflow, version, status, head, lease_owner, lease_until, changed_at)
SELECT g.stream, g.workflow, g.version, g.status, g.head, g.owner, t.now + g.lease, t.now
FROM unnest($1::text[], $2::text[], $3::bigint[], $4::text[], $5::bigint[], $6::text[],
  $7::bigint[]) AS g(stream, workflow, version, status, head, owner, lease), told t
WHERE NOT EXISTS (SELECT 1 FROM cf.event e WHERE e.stream = g.stream OFFSET 0)
ORDER BY g.stream
ON CONFLICT (stream) DO UPDATE SET workflow = excluded.workflow, version = excluded.version,
  status = excluded.status, head = excluded.head, lease_owner = excluded.lease_owner,
  lease_until = excluded.lease_until, changed_at = excluded.changed_at, reason = NULL, input = NULL
WHERE stream.workflow IS NULL AND stream.head = 0 RETURNING stream;

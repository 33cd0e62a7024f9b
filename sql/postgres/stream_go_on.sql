-- by stream_pkey: workflows that go on, if they are where their steps expect them. Rows are locked
-- in the order of streams.
WITH held AS MATERIALIZED (
  SELECT h.stream, g.status, g.head, g.owner, g.lease
  FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[], $5::text[], $6::bigint[],
    $7::text[], $8::bigint[])
    AS g(stream, workflow, version, expected, status, head, owner, lease)
  JOIN cf.stream h ON h.stream = g.stream
  WHERE h.workflow = g.workflow AND h.version = g.version AND h.head = g.expected
    AND h.status <> 'quarantined'
  ORDER BY h.stream FOR UPDATE OF h
),
told AS MATERIALIZED (SELECT cf.micros() AS now)
UPDATE cf.stream s SET status = h.status, head = h.head, lease_owner = h.owner,
  lease_until = t.now + h.lease, changed_at = t.now
FROM held h, told t WHERE s.stream = h.stream RETURNING s.stream;

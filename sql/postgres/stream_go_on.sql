-- by stream_pkey, looked up by its key: workflows that go on, if they are where their steps expect
-- them. Rows are locked in the order given, that of streams.
WITH held AS MATERIALIZED (
  SELECT g.stream, g.status, g.head, g.owner, t.now + g.lease AS until, t.now
  FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[], $5::text[], $6::bigint[],
    $7::text[], $8::bigint[])
    AS g(stream, workflow, version, expected, status, head, owner, lease)
  CROSS JOIN LATERAL (SELECT FROM cf.stream h
    WHERE h.stream = g.stream AND h.workflow = g.workflow AND h.version = g.version
      AND h.head = g.expected AND h.status <> 'quarantined' LIMIT 1 FOR UPDATE OF h) stands
  CROSS JOIN (SELECT cf.micros() AS now OFFSET 0) t
)
UPDATE cf.stream s SET (status, head, lease_owner, lease_until, changed_at) = (
  SELECT h.status, h.head, h.owner, h.until, h.now FROM held h WHERE h.stream = s.stream)
WHERE s.stream = ANY(ARRAY(SELECT h.stream FROM held h)) RETURNING s.stream;

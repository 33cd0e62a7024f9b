-- by event_pkey and stream_pkey: a workflow is set aside, if it is where it was seen; one that
-- never began gets its row.
INSERT INTO cf.stream(stream, workflow, version, status, head, reason, input, changed_at)
SELECT $1::text, $2::text, $3::bigint, 'quarantined',
  coalesce((SELECT max(e.seq) FROM cf.event e WHERE e.stream = $1::text), 0), $5::text, $6::text,
  (SELECT cf.micros())
WHERE EXISTS (SELECT 1 FROM cf.stream h WHERE h.stream = $1::text AND h.workflow IS NOT NULL)
  OR ($4::bigint = 0 AND (NOT EXISTS (SELECT 1 FROM cf.event e WHERE e.stream = $1::text)
    OR EXISTS (SELECT 1 FROM cf.event b WHERE b.stream = $1::text AND b.seq = 1
      AND starts_with(b.kind, 'start:') AND (b.cause IS NULL) IS FALSE)))
ON CONFLICT (stream) DO UPDATE SET workflow = coalesce(stream.workflow, excluded.workflow),
  version = CASE WHEN stream.workflow IS NULL THEN excluded.version ELSE stream.version END,
  head = CASE WHEN stream.workflow IS NULL THEN greatest(stream.head, excluded.head)
    ELSE stream.head END,
  status = 'quarantined', lease_owner = NULL, lease_until = NULL, reason = excluded.reason,
  input = excluded.input, changed_at = excluded.changed_at
WHERE CASE WHEN stream.workflow IS NULL THEN $4::bigint = 0
  ELSE stream.status = 'running' AND stream.head = $4::bigint END
RETURNING stream;

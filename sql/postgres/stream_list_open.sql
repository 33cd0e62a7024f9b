-- by stream_status from the cursor on: of any status but completed.
SELECT stream, workflow, version, status, head, reason, input, changed_at
FROM cf.stream
WHERE status = $3::text AND status <> 'completed' AND workflow IS NOT NULL
  AND stream > $1::text AND ($2::text IS NULL OR workflow = $2::text)
ORDER BY stream LIMIT $4::bigint;

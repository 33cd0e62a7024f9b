-- by stream_pkey from the cursor on.
SELECT stream, workflow, version, status, head, reason, input, changed_at
FROM cf.stream
WHERE workflow IS NOT NULL AND stream > $1::text AND ($2::text IS NULL OR workflow = $2::text)
  AND ($3::text IS NULL OR status = $3::text)
ORDER BY stream LIMIT $4::bigint;

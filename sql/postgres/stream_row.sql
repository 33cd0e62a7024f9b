-- by stream_pkey.
SELECT stream, workflow, version, status, head, reason, input, changed_at
FROM cf.stream WHERE stream = $1::text AND workflow IS NOT NULL;

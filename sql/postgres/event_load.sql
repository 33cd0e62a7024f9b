-- by event_pkey.
SELECT seq, kind, body, cause, commands, recorded_at, decided, file, digest
FROM cf.event WHERE stream = $1::text AND seq > $2::bigint ORDER BY seq LIMIT $3::bigint;

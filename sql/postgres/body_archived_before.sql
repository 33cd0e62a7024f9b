-- by event_file: the newest of a stream first.
SELECT seq, kind, body, cause, commands, recorded_at, decided, file, digest, stream FROM cf.event
WHERE file IS NOT NULL AND stream = $1::text AND seq < $2::bigint
ORDER BY seq DESC LIMIT $3::bigint;

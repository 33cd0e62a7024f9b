-- by event_pkey from the cursor on.
SELECT seq, kind, body, cause, commands, recorded_at, decided, file, digest, stream FROM cf.event
WHERE (stream, seq) > ($1::text, $2::bigint) ORDER BY stream, seq LIMIT $3::bigint;

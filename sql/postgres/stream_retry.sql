-- by stream_pkey.
UPDATE cf.stream SET status = 'running', reason = NULL, input = NULL, changed_at = $2::bigint
WHERE stream = $1::text;

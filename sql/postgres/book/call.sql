-- by none: writes a request that was taken on.
INSERT INTO cf.calls(key, attempt, token, outcome)
VALUES ($1::text, $2::bigint, $3::bigint, $4::text);

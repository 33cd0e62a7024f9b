-- by nothing: it appends.
INSERT INTO cf.attempt(n, round, token, purpose, outcome, reason, started_at, ended_at)
VALUES ($1::bigint, $2::int, $3::bigint, $4::text, $5::text, $6::text, $7::bigint, $8::bigint);

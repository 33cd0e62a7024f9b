-- by nothing: it appends.
INSERT INTO cf.contradiction(command_id, round, outcome, result, evidence, source, recorded_at)
VALUES ($1::text, $2::int, $3::text, $4::bytea, $5::text, $6::text, $7::bigint);

-- by nothing: it appends.
INSERT INTO cf.operator_action(verb, about, actor, reason, before, after, recorded_at)
VALUES ($1::text, $2::text, $3::text, $4::text, $5::text, $6::text, $7::bigint);

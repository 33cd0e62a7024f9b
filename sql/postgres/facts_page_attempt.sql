-- by attempt_n.
SELECT n, round, purpose, outcome, ended_at, id, token, started_at, reason
FROM cf.attempt WHERE n BETWEEN $1::bigint AND $2::bigint ORDER BY n, id;

-- by attempt_n.
SELECT n, round, purpose, outcome, ended_at, id, token, started_at, reason
FROM cf.attempt WHERE n = ANY($1::bigint[]) ORDER BY n, id;

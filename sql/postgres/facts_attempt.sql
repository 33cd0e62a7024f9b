-- by attempt_n.
SELECT n, round, purpose, outcome, ended_at
FROM cf.attempt WHERE n = ANY($1::bigint[]) ORDER BY n, id;

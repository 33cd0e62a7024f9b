-- by attempt_n.
SELECT round, token, purpose, outcome, reason, ended_at
FROM cf.attempt WHERE n = $1::bigint ORDER BY id;

-- by input_due: the next program that something waits for.
SELECT i.workflow FROM cf.input i
WHERE i.workflow > $1::text AND i.workflow IS NOT NULL ORDER BY i.workflow LIMIT 1;

-- by input_pkey: the timers that wait for these workflows.
SELECT i.stream, i.id, i.due_at FROM cf.input i
WHERE i.stream = ANY($1::text[]) AND i.id >= 'timer:' AND i.id < 'timer;'
ORDER BY i.stream, i.id LIMIT $2::bigint;

-- by input_pkey: the timers of workflows that have ended.
DELETE FROM cf.input i USING unnest($1::text[]) AS g(stream)
WHERE i.stream = g.stream AND i.id >= 'timer:' AND i.id < 'timer;' AND i.kind = 'timer';

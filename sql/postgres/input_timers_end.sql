-- by input_pkey: the timers of workflows that have ended.
DELETE FROM cf.input
WHERE stream = ANY($1::text[]) AND id >= 'timer:' AND id < 'timer;' AND kind = 'timer';

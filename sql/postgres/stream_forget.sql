-- by stream_pkey: the head follows from the events.
DELETE FROM cf.stream WHERE stream = $1::text;

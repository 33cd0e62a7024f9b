-- by event_pkey and stream_pkey.
SELECT coalesce((SELECT max(seq) FROM cf.event WHERE stream = $1::text),
  (SELECT head FROM cf.stream WHERE stream = $1::text), 0);

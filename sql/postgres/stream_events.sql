-- by event_pkey and stream_pkey: the heads of streams.
SELECT g.stream, coalesce((SELECT max(e.seq) FROM cf.event e WHERE e.stream = g.stream),
  (SELECT s.head FROM cf.stream s WHERE s.stream = g.stream), 0)
FROM unnest($1::text[]) AS g(stream);

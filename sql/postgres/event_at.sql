-- by event_pkey: the events at these places.
SELECT e.seq, e.kind, e.body, e.cause, e.commands, e.recorded_at, e.decided, e.file, e.digest,
  e.stream, g.place
FROM unnest($1::text[], $2::bigint[]) WITH ORDINALITY AS g(stream, seq, place)
JOIN cf.event e ON e.stream = g.stream AND e.seq = g.seq ORDER BY g.place;

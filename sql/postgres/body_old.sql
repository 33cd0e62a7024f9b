-- by event_pkey: of ranges of streams, events whose bodies are here, old enough, and long enough to
-- be archived; and how long.
SELECT e.stream, e.seq, e.bytes
FROM unnest($1::text[], $2::bigint[], $3::bigint[]) WITH ORDINALITY AS g(stream, low, high, place)
CROSS JOIN LATERAL (SELECT o.stream, o.seq, octet_length(o.body)::bigint AS bytes FROM cf.event o
  WHERE o.stream = g.stream AND o.seq > g.low AND o.seq <= g.high AND o.file IS NULL
    AND o.digest IS NULL AND o.recorded_at < $4::bigint AND octet_length(o.body) >= $5::bigint
  ORDER BY o.seq) e
ORDER BY g.place, e.seq LIMIT $6::bigint;

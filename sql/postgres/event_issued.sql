-- by event_pkey: which of these commands have an event that issued one of their index.
SELECT g.place FROM unnest($1::text[], $2::bigint[], $3::bigint[]) WITH ORDINALITY
  AS g(stream, seq, idx, place)
WHERE EXISTS (SELECT 1 FROM cf.event e
  WHERE e.stream = g.stream AND e.seq = g.seq AND e.commands > g.idx)
ORDER BY g.place;

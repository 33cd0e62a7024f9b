-- by input_pkey and event_cause: what stands under these ids, waiting or decided, in one look.
SELECT g.place, i.kind || ':' || i.name, i.body
FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS g(stream, id, place)
JOIN cf.input i ON i.stream = g.stream AND i.id = g.id
UNION ALL
SELECT g.place, e.kind, e.body
FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS g(stream, id, place)
JOIN cf.event e ON e.stream = g.stream AND e.cause = g.id AND e.cause IS NOT NULL;

-- by input_pkey and event_cause, each looked up by its key: what stands under these ids, waiting or
-- decided, in one snapshot, which of the two, and whether its body is archived.
SELECT g.place, i.kind || ':' || i.name, i.body, false, false, NULL::bytea
FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS g(stream, id, place)
CROSS JOIN LATERAL (SELECT w.kind, w.name, w.body FROM cf.input w
  WHERE w.stream = g.stream AND w.id = g.id LIMIT 1) i
UNION ALL
SELECT g.place, e.kind, e.body, true, e.file IS NOT NULL, e.digest
FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS g(stream, id, place)
CROSS JOIN LATERAL (SELECT d.kind, d.body, d.file, d.digest FROM cf.event d
  WHERE d.stream = g.stream AND d.cause = g.id AND d.cause IS NOT NULL LIMIT 1) e;

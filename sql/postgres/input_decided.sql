-- by input_pkey and event_cause, each looked up by its key: what was inserted again by a
-- transaction that could not see it decided, and whether it is what was decided: kind, name and
-- body, or the digest of one that is archived.
DELETE FROM cf.input i USING (
  SELECT held.place, held.kind IN ('receipt', 'timer') OR (
    decided.kind = held.kind || ':' || held.name
    AND CASE WHEN decided.file IS NULL THEN decided.body = coalesce(held.body, '')
      ELSE decided.digest = sha256(coalesce(held.body, '')) END) IS TRUE AS is_same
  FROM unnest($1::text[], $2::text[]) AS g(stream, id)
  CROSS JOIN LATERAL (SELECT w.ctid AS place, w.kind, w.name, w.body FROM cf.input w
    WHERE w.stream = g.stream AND w.id = g.id LIMIT 1 FOR UPDATE OF w) held
  CROSS JOIN LATERAL (SELECT e.kind, e.body, e.file, e.digest FROM cf.event e
    WHERE e.stream = g.stream AND e.cause = g.id AND e.cause IS NOT NULL LIMIT 1) decided
) again
WHERE i.ctid = again.place
RETURNING i.id, i.kind, i.name, again.is_same;

-- by input_pkey, each looked up by its key: whether these workflows have an input behind what was
-- read that was to come before another one: a timer that was due before a time, or one due at once
-- that was recorded by it.
SELECT CASE WHEN g.is_timed
  THEN EXISTS (SELECT 1 FROM cf.input i
    WHERE i.stream = g.stream AND i.id >= 'timer:' AND i.id < 'timer;'
      AND (i.workflow IS NULL) IS FALSE AND i.due_at < g.before
      AND (i.due_at, i.arrival) > (g.due_at, g.arrival) OFFSET 0)
  ELSE EXISTS (SELECT 1 FROM cf.input i
    WHERE i.stream = g.stream AND i.due_at IS NULL AND (i.workflow IS NULL) IS FALSE
      AND i.arrival > g.arrival AND i.recorded_at <= g.before OFFSET 0) END
FROM unnest($1::text[], $2::bool[], $3::bigint[], $4::bigint[], $5::bigint[]) WITH ORDINALITY
  AS g(stream, is_timed, due_at, arrival, before, place)
ORDER BY g.place;

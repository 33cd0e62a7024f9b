-- by input_pkey: timers that decisions set; one of an id that stands is set anew.
INSERT INTO cf.input(stream, id, kind, name, due_at, workflow, recorded_at)
SELECT g.stream, g.id, 'timer', g.name, g.due_at, g.workflow, (SELECT cf.micros())
FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::text[])
  AS g(stream, id, name, due_at, workflow)
ORDER BY g.stream, g.id
ON CONFLICT (stream, id) DO UPDATE SET due_at = excluded.due_at;

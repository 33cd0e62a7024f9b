-- by nothing: the events of steps, appended. Fewer rows than given are a refusal, since a seq or a
-- cause stands already.
INSERT INTO cf.event(stream, seq, kind, body, cause, commands, decided, recorded_at)
SELECT g.stream, g.seq, g.kind, g.body, g.cause, g.commands, g.decided, g.recorded_at
FROM unnest($1::text[], $2::bigint[], $3::text[], $4::bytea[], $5::text[], $6::int[], $7::text[],
  $8::bigint[]) AS g(stream, seq, kind, body, cause, commands, decided, recorded_at)
ORDER BY g.stream, g.seq
ON CONFLICT DO NOTHING RETURNING seq;

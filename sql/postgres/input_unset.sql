-- by input_pkey: a timer that has gone is no error.
DELETE FROM cf.input i USING unnest($1::text[], $2::text[]) AS g(stream, id)
WHERE i.stream = g.stream AND i.id = g.id AND i.kind = 'timer';

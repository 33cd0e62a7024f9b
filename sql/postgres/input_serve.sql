-- by input_pkey: all inputs of these workflows wait for these programs from now on; NULL: for none.
UPDATE cf.input i SET workflow = (SELECT g.workflow
  FROM unnest($1::text[], $2::text[]) AS g(stream, workflow) WHERE g.stream = i.stream)
WHERE i.stream = ANY($1::text[]) AND i.workflow IS DISTINCT FROM (SELECT g.workflow
  FROM unnest($1::text[], $2::text[]) AS g(stream, workflow) WHERE g.stream = i.stream);

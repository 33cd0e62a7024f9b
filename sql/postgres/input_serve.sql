-- by input_pkey: all inputs of a workflow wait for this program from now on; NULL: for none.
UPDATE cf.input i SET workflow = g.workflow
FROM unnest($1::text[], $2::text[]) AS g(stream, workflow)
WHERE i.stream = g.stream AND i.workflow IS DISTINCT FROM g.workflow;

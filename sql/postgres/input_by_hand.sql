-- by input_pkey and stream_pkey, each looked up by its key: an input that a person names, and
-- whether a runner decides it: one that is set aside nobody does.
SELECT i.kind, (i.workflow IS NULL) IS FALSE AND EXISTS (SELECT 1 FROM cf.stream s
  WHERE s.stream = $1::text AND s.workflow IS NOT NULL AND s.status <> 'quarantined' OFFSET 0)
FROM cf.input i WHERE i.stream = $1::text AND i.id = $2::text;

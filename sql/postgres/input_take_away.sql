-- by input_pkey, stream_pkey and event_pkey, each looked up by its key: an input of a stream that
-- is a service's own.
DELETE FROM cf.input i WHERE i.stream = $1::text AND i.id = $2::text
  AND NOT EXISTS (SELECT 1 FROM cf.stream s
    WHERE s.stream = $1::text AND s.workflow IS NOT NULL OFFSET 0)
  AND EXISTS (SELECT 1 FROM cf.event e WHERE e.stream = $1::text OFFSET 0)
  AND NOT EXISTS (SELECT 1 FROM cf.event b WHERE b.stream = $1::text AND b.seq = 1
    AND starts_with(b.kind, 'start:') AND (b.cause IS NULL) IS FALSE OFFSET 0)
RETURNING i.kind, i.name;

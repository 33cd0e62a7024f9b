-- by input_pkey and stream_pkey, each looked up by its key: an input that no runner decides, and
-- for which nobody waits, is taken away.
DELETE FROM cf.input i WHERE i.stream = $1::text AND i.id = $2::text
  AND i.kind NOT IN ('receipt', 'timer')
  AND ((i.workflow IS NULL) IS TRUE
    OR NOT EXISTS (SELECT 1 FROM cf.stream s WHERE s.stream = $1::text
      AND s.workflow IS NOT NULL AND s.status <> 'quarantined' OFFSET 0))
RETURNING i.kind, i.name;

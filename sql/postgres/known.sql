-- by outbox_command_id_key and archived_pkey.
SELECT EXISTS (SELECT 1 FROM cf.outbox o WHERE o.command_id = g.id)
  OR EXISTS (SELECT 1 FROM cf.archived a WHERE a.command_id = g.id)
FROM unnest($1::text[]) WITH ORDINALITY AS g(id, place) ORDER BY g.place;

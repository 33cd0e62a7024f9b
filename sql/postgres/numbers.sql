-- by outbox_command_id_key and archived_pkey.
SELECT coalesce((SELECT o.n FROM cf.outbox o WHERE o.command_id = g.id),
  (SELECT 0::bigint FROM cf.archived a WHERE a.command_id = g.id))
FROM unnest($1::text[]) WITH ORDINALITY AS g(id, place) ORDER BY g.place;

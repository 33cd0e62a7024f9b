-- by outbox_command_id_key: what an act must know of its command.
SELECT n, destination, ordering_key, expires_at, erased_at IS NOT NULL, stream IS NOT NULL
FROM cf.outbox WHERE command_id = $1::text;

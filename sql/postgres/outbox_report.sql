-- by outbox_command_id_key: what a report must know of its command.
SELECT n, stream IS NOT NULL FROM cf.outbox WHERE command_id = $1::text;

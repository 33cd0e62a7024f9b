-- by outbox_command_id_key.
SELECT n FROM cf.outbox WHERE command_id = $1::text;

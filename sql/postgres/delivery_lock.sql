-- by outbox_command_id_key and delivery_pkey: these stay as they are until the transaction ends.
SELECT d.n FROM cf.outbox o JOIN cf.delivery d ON d.n = o.n
WHERE o.command_id = ANY($1::text[]) ORDER BY d.n FOR UPDATE OF d;

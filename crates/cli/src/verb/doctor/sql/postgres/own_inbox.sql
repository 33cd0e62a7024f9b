-- By destination, how long this store's own inbox keeps the keys of this store's own commands: one
-- pass over the source's part of inbox_pkey, each command by outbox_command_id_key.
SELECT o.destination, count(*), count(*) - count(i.expires_at), min(i.expires_at - i.received_at)
FROM cf.inbox i JOIN cf.outbox o ON o.command_id = i.key
WHERE i.source = $1 GROUP BY o.destination;

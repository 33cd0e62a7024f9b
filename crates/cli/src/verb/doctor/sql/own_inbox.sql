-- By destination, how long this store's own inbox keeps the keys of this store's own commands: one
-- pass over the source's part of the inbox's primary key, each command by the index of command_id.
SELECT o.destination, count(*), count(*) - count(i.expires_at), min(i.expires_at - i.received_at)
FROM counterfoil_inbox i CROSS JOIN counterfoil_outbox o ON o.command_id = i.key
WHERE i.source = ?1 GROUP BY o.destination;

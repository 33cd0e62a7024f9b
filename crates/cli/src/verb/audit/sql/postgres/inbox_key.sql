-- What stands under keys of one source, in their order; each is looked up by the primary key.
SELECT inbox.key, inbox.outcome, inbox.received_at
FROM unnest($2::text[]) WITH ORDINALITY AS asked(key, place)
LEFT JOIN cf.inbox AS inbox ON inbox.source = $1 AND inbox.key = asked.key
ORDER BY asked.place;

-- The triggers on the schema's tables and views; the catalog's own indexes.
SELECT trigger.tgname::text, tab.relname::text, trigger.tgenabled::text
FROM pg_trigger AS trigger
JOIN pg_class AS tab ON tab.oid = trigger.tgrelid
JOIN pg_namespace AS namespace ON namespace.oid = tab.relnamespace
WHERE namespace.nspname = $1 AND NOT trigger.tgisinternal
ORDER BY tab.relname, trigger.tgname;

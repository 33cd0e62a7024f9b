-- The columns of the schema's tables; the catalog's own indexes.
SELECT tab.relname::text, attribute.attname::text
FROM pg_class AS tab
JOIN pg_namespace AS namespace ON namespace.oid = tab.relnamespace
JOIN pg_attribute AS attribute ON attribute.attrelid = tab.oid
WHERE namespace.nspname = $1 AND tab.relkind IN ('r', 'p')
  AND attribute.attnum > 0 AND NOT attribute.attisdropped
ORDER BY tab.relname, attribute.attnum;

-- The indexes of the schema's tables; the catalog's own indexes.
SELECT
  class.relname::text,
  tab.relname::text,
  index.indisvalid AND index.indisready,
  index.indisprimary,
  index.indisunique AND index.indnatts = 1 AND index.indpred IS NULL,
  coalesce(attribute.attname::text, '')
FROM pg_index AS index
JOIN pg_class AS class ON class.oid = index.indexrelid
JOIN pg_class AS tab ON tab.oid = index.indrelid
JOIN pg_namespace AS namespace ON namespace.oid = tab.relnamespace
LEFT JOIN pg_attribute AS attribute
  ON attribute.attrelid = tab.oid AND attribute.attnum = index.indkey[0]
WHERE namespace.nspname = $1
ORDER BY tab.relname, class.relname;

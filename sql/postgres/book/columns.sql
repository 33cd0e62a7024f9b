-- by pg_class_relname_nsp_index and pg_attribute_relid_attnum_index: what stands under the names of
-- the receiver's tables.
SELECT c.relname::text, string_agg(a.attname::text, ',' ORDER BY a.attnum)
FROM pg_namespace s JOIN pg_class c ON c.relnamespace = s.oid
JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
WHERE s.nspname = $1::text AND c.relname = ANY($2::text[]) GROUP BY c.relname;

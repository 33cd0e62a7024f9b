-- By the unique indexes of the catalogs: whether the schema stands, whether it holds our meta
-- table, and what else it holds first.
SELECT
  EXISTS (SELECT FROM pg_namespace WHERE nspname = $1::text),
  (SELECT count(*) = 4 FROM pg_attribute a
    JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace s ON s.oid = c.relnamespace
    WHERE s.nspname = $1::text AND c.relname = 'meta' AND c.relkind = 'r'
      AND a.attname IN ('k', 'version', 'source', 'store') AND NOT a.attisdropped),
  coalesce(
    (SELECT min(c.relname::text) FROM pg_class c JOIN pg_namespace s ON s.oid = c.relnamespace
      WHERE s.nspname = $1::text),
    (SELECT min(p.proname::text) FROM pg_proc p JOIN pg_namespace s ON s.oid = p.pronamespace
      WHERE s.nspname = $1::text),
    (SELECT min(t.typname::text) FROM pg_type t JOIN pg_namespace s ON s.oid = t.typnamespace
      WHERE s.nspname = $1::text));

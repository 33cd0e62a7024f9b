-- Live and dead rows of delivery, and when it was vacuumed last; the catalog's own indexes.
SELECT
  stat.n_live_tup,
  stat.n_dead_tup,
  (extract(epoch FROM greatest(stat.last_vacuum, stat.last_autovacuum)) * 1000000)::bigint,
  coalesce(class.reloptions::text LIKE '%autovacuum_enabled=false%', false)
FROM pg_stat_all_tables AS stat
JOIN pg_class AS class ON class.oid = stat.relid
WHERE stat.schemaname = $1 AND stat.relname = 'delivery';

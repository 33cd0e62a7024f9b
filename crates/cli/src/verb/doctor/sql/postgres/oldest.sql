-- The oldest transaction of this database that may hold vacuum back; a scan of the sessions.
SELECT
  pid,
  (extract(epoch FROM clock_timestamp() - xact_start) * 1000000)::bigint,
  coalesce(nullif(application_name, ''), 'no name'),
  coalesce(state, 'unknown')
FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid() AND xact_start IS NOT NULL
  AND backend_type <> 'autovacuum worker'
  AND (backend_xmin IS NOT NULL OR backend_xid IS NOT NULL OR state LIKE 'idle in transaction%')
ORDER BY xact_start LIMIT 1;

-- One row of settings and counts; of tables only meta, by its primary key.
SELECT
  current_setting('server_version'),
  (SELECT version FROM cf.meta WHERE k = 1),
  (extract(epoch FROM clock_timestamp()) * 1000000)::bigint,
  current_setting('fsync'),
  current_setting('full_page_writes'),
  current_setting('synchronous_commit'),
  current_setting('autovacuum'),
  (current_setting('max_connections')::bigint
    - current_setting('superuser_reserved_connections')::bigint),
  (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'),
  pg_is_in_recovery(),
  pg_has_role(current_user, 'pg_read_all_stats', 'USAGE');

-- The oldest prepared transaction of this database, and how many there are; a small view.
SELECT
  gid,
  (extract(epoch FROM clock_timestamp() - prepared) * 1000000)::bigint,
  count(*) OVER ()
FROM pg_prepared_xacts WHERE database = current_database()
ORDER BY prepared LIMIT 1;

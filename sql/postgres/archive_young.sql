-- by outbox_pkey, pg_database_datname_index and the server's lists of sessions and locks: the
-- transactions of this database, or those of these that are still there, whose snapshot may be
-- older than some of these commands, and which. Transaction ids are compared by their low 32 bits;
-- a row that was frozen long ago keeps its number, which counts as old.
WITH clock AS MATERIALIZED (
  SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint AS next
),
seen AS MATERIALIZED (
  SELECT a.pid, (c.next - a.backend_xmin::text::bigint) & 4294967295 AS age
  FROM clock c, pg_stat_get_activity(NULL) a
  WHERE a.datid = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database())
    AND a.backend_xmin IS NOT NULL AND a.pid <> pg_backend_pid()
),
at_work AS MATERIALIZED (
  SELECT l.virtualtransaction AS name, s.age FROM seen s, pg_locks l
  WHERE l.pid = s.pid AND l.locktype = 'virtualxid' AND l.mode = 'ExclusiveLock' AND l.granted
    AND s.age < 2147483648 AND ($2::bool OR l.virtualtransaction = ANY($3::text[]))
)
SELECT w.name, array_agg(o.n) FROM clock c, at_work w, cf.outbox o
WHERE o.n = ANY($1::bigint[]) AND ((c.next - o.xmin::text::bigint) & 4294967295) <= w.age
GROUP BY w.name;

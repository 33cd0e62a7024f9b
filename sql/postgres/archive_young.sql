-- by outbox_pkey, pg_database_datname_index and the server's list of sessions: which of these
-- commands some session of this database may not see yet, since its snapshot is older than they are.
-- Its insert of the same id would pass between the row that goes and the tombstone that comes.
-- Transaction ids are compared by their low 32 bits; a row that was frozen long ago keeps its
-- number, which counts as old.
WITH clock AS MATERIALIZED (
  SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint AS next
),
seen AS MATERIALIZED (
  SELECT coalesce(max(s.age), 0) AS age FROM (
    SELECT (c.next - a.backend_xmin::text::bigint) & 4294967295 AS age
    FROM clock c, pg_stat_get_activity(NULL) a
    WHERE a.datid = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database())
      AND a.backend_xmin IS NOT NULL
  ) s WHERE s.age < 2147483648
)
SELECT o.n FROM clock c, seen s, cf.outbox o
WHERE o.n = ANY($1::bigint[]) AND ((c.next - o.xmin::text::bigint) & 4294967295) <= s.age;

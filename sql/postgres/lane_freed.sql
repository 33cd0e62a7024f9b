-- by scan of lane_freed: takes away the notes of the first lanes of so many notes that nobody else
-- looks at, and tells whether there may be more.
WITH taken AS MATERIALIZED (
  SELECT f.ctid AS at, f.destination, f.ordering_key FROM cf.lane_freed f
  LIMIT $1::bigint FOR UPDATE OF f SKIP LOCKED
),
placed AS MATERIALIZED (
  SELECT t.at, t.destination, t.ordering_key,
    dense_rank() OVER (ORDER BY t.destination, t.ordering_key) AS place
  FROM taken t
),
gone AS (
  DELETE FROM cf.lane_freed f USING placed p WHERE f.ctid = p.at AND p.place <= $2::bigint
)
SELECT DISTINCT p.destination, p.ordering_key,
  (SELECT count(*) >= $1::bigint OR max(q.place) > $2::bigint FROM placed q)
FROM placed p WHERE p.place <= $2::bigint;

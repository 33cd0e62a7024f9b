-- by scan of tally, of so many rows that nobody else folds: their sums take their place.
WITH taken AS MATERIALIZED (
  SELECT ctid FROM cf.tally LIMIT $1::bigint FOR UPDATE SKIP LOCKED
),
gone AS (
  DELETE FROM cf.tally t USING taken k WHERE t.ctid = k.ctid
  RETURNING t.destination, t.outcome, t.count
)
INSERT INTO cf.tally(destination, outcome, count)
SELECT destination, outcome, sum(count)::bigint FROM gone
GROUP BY destination, outcome HAVING sum(count) <> 0;

-- by delivery_due: from the first row of one destination to that of the next.
WITH RECURSIVE awaiting(name) AS (
  (SELECT d.destination FROM cf.delivery d WHERE d.available_at IS NOT NULL
    ORDER BY d.destination LIMIT 1)
  UNION ALL
  SELECT (SELECT d.destination FROM cf.delivery d
    WHERE d.available_at IS NOT NULL AND d.destination > a.name ORDER BY d.destination LIMIT 1)
  FROM awaiting a WHERE a.name IS NOT NULL
)
SELECT name FROM awaiting WHERE name IS NOT NULL;

-- by counterfoil_delivery_due: from the first row of one destination to that of the next.
WITH RECURSIVE awaiting(name) AS (
  SELECT min(destination) FROM counterfoil_delivery WHERE available_at IS NOT NULL
  UNION ALL
  SELECT (SELECT min(d.destination) FROM counterfoil_delivery d
    WHERE d.available_at IS NOT NULL AND d.destination > a.name)
  FROM awaiting a WHERE a.name IS NOT NULL
)
SELECT name FROM awaiting WHERE name IS NOT NULL;

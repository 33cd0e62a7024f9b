-- by delivery_due and destination_pkey: the first of each destination that is not paused.
SELECT min(f.available_at) FROM unnest($1::text[]) AS g(name) CROSS JOIN LATERAL (
  SELECT d.available_at FROM cf.delivery d
  WHERE d.available_at IS NOT NULL AND d.destination = g.name
  ORDER BY d.available_at, d.n LIMIT 1
) f
WHERE NOT EXISTS (SELECT 1 FROM cf.destination s WHERE s.name = g.name
  AND s.paused_at IS NOT NULL);

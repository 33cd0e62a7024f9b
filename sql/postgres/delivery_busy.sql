-- by delivery_due: whether the first of a destination is at work now. Then nobody need count what
-- is left there, by a walk of all that is open.
SELECT EXISTS (
  SELECT FROM unnest($1::text[]) AS g(name) CROSS JOIN LATERAL (
    SELECT d.state, d.lease_until FROM cf.delivery d
    WHERE d.available_at IS NOT NULL AND d.destination = g.name
    ORDER BY d.available_at, d.n LIMIT 1
  ) f
  WHERE f.state IN ('sending', 'asking') AND f.lease_until > (SELECT cf.micros())
);

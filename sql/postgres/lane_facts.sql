-- by outbox_lane, one probe a lane, and lane_pkey, from the cursor on; then delivery_pkey and
-- receipt_pkey. A lane is found by its row, or by a command whose lane has none.
WITH RECURSIVE used AS (
  (SELECT destination, ordering_key, 1::bigint AS place FROM cf.outbox
   WHERE ordering_key IS NOT NULL AND (destination, ordering_key) > ($1::text, $2::text)
   ORDER BY destination, ordering_key LIMIT 1)
  UNION ALL
  SELECT x.destination, x.ordering_key, u.place + 1 FROM used u CROSS JOIN LATERAL (
    SELECT o.destination, o.ordering_key FROM cf.outbox o
    WHERE o.ordering_key IS NOT NULL
      AND (o.destination, o.ordering_key) > (u.destination, u.ordering_key)
    ORDER BY o.destination, o.ordering_key LIMIT 1
  ) x WHERE u.place < $3::bigint
),
named AS (
  SELECT destination, ordering_key FROM used
  UNION (SELECT destination, ordering_key FROM cf.lane
    WHERE (destination, ordering_key) > ($1::text, $2::text)
    ORDER BY destination, ordering_key LIMIT $3::bigint)
  ORDER BY destination, ordering_key LIMIT $3::bigint
)
SELECT l.destination, l.ordering_key,
  (SELECT last FROM cf.lane a WHERE a.destination = l.destination
    AND a.ordering_key = l.ordering_key),
  c.commands, c.places, c.newest, c.in_flight
FROM named l CROSS JOIN LATERAL (
  SELECT count(*) AS commands, count(DISTINCT p.place) AS places,
    coalesce(max(p.place), 0) AS newest, count(*) FILTER (WHERE p.in_flight) AS in_flight
  FROM (
    SELECT coalesce(d.key_seq, (SELECT r.key_seq FROM cf.receipt r WHERE r.n = o.n
        ORDER BY r.round DESC LIMIT 1)) AS place,
      d.state IN ('sending', 'asking', 'published') AS in_flight
    FROM cf.outbox o LEFT JOIN cf.delivery d ON d.n = o.n
    WHERE o.ordering_key IS NOT NULL AND o.destination = l.destination
      AND o.ordering_key = l.ordering_key
  ) p
) c ORDER BY l.destination, l.ordering_key;

-- by delivery_lane, one probe a lane and two more, and delivery_turn: the next lanes that have an
-- open command, whether nobody has the turn of each, whether its first waits, and whether any does.
WITH RECURSIVE lanes AS (
  (SELECT destination, ordering_key, 1::bigint AS place FROM cf.delivery
   WHERE ordering_key IS NOT NULL AND (destination, ordering_key) > ($1::text, $2::text)
   ORDER BY destination, ordering_key LIMIT 1)
  UNION ALL
  SELECT x.destination, x.ordering_key, l.place + 1 FROM lanes l CROSS JOIN LATERAL (
    SELECT d.destination, d.ordering_key FROM cf.delivery d
    WHERE d.ordering_key IS NOT NULL
      AND (d.destination, d.ordering_key) > (l.destination, l.ordering_key)
    ORDER BY d.destination, d.ordering_key LIMIT 1
  ) x WHERE l.place < $3::bigint
),
free AS (
  SELECT l.*, NOT EXISTS (SELECT 1 FROM cf.delivery h WHERE h.destination = l.destination
    AND h.ordering_key = l.ordering_key AND h.turn IS NOT NULL) AS is_free
  FROM lanes l
)
SELECT f.destination, f.ordering_key, f.is_free,
  f.is_free AND (SELECT d.state = 'pending' FROM cf.delivery d
    WHERE d.destination = f.destination AND d.ordering_key = f.ordering_key
      AND d.ordering_key IS NOT NULL ORDER BY d.key_seq LIMIT 1),
  f.is_free AND EXISTS (SELECT 1 FROM cf.delivery d
    WHERE d.destination = f.destination AND d.ordering_key = f.ordering_key
      AND d.ordering_key IS NOT NULL AND d.state = 'pending')
FROM free f ORDER BY f.place;

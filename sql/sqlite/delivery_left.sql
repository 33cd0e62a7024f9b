-- by scan of delivery, by rowid, the primary key of counterfoil_lane, counterfoil_delivery_turn
-- and counterfoil_delivery_lane: what is left is asked when a relay may end, of open rows only. Of
-- those that wait in a lane, it counts those whose turn is with one that no relay works on now, and
-- those that a parked head blocks.
SELECT destination, state, count(*), sum(is_early), sum(lease_until > ?1),
  sum(waits AND NOT is_early AND (
    SELECT h.state = 'published' OR (h.state = 'pending' AND h.available_at > ?1
      AND (SELECT o.not_before FROM counterfoil_outbox o WHERE o.n = h.n) > ?1)
    FROM counterfoil_lane l CROSS JOIN counterfoil_delivery h ON h.turn = l.n
    WHERE l.destination = d.destination AND l.ordering_key = d.ordering_key)),
  sum(waits AND NOT is_early AND NOT EXISTS (
      SELECT 1 FROM counterfoil_lane l CROSS JOIN counterfoil_delivery h ON h.turn = l.n
      WHERE l.destination = d.destination AND l.ordering_key = d.ordering_key)
    AND (SELECT h.state IN ('dead', 'uncertain', 'conflict') FROM counterfoil_delivery h
      WHERE h.destination = d.destination AND h.ordering_key = d.ordering_key
        AND h.ordering_key IS NOT NULL AND h.turn IS NULL ORDER BY h.key_seq LIMIT 1))
FROM (
  SELECT destination, state, lease_until, ordering_key,
    state = 'pending' AND available_at IS NULL AND ordering_key IS NOT NULL AS waits,
    state = 'pending' AND coalesce(available_at > ?1, 1) AND coalesce(
      (SELECT o.not_before FROM counterfoil_outbox o WHERE o.n = counterfoil_delivery.n) > ?1, 0)
      AS is_early
  FROM counterfoil_delivery
) d GROUP BY destination, state;

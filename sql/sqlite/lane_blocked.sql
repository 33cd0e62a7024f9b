-- by scan of counterfoil_delivery_parked, then counterfoil_delivery_lane, the primary key of
-- counterfoil_lane, counterfoil_delivery_turn and rowid of the outbox: parked heads of lanes whose
-- turn nobody has, and how many wait behind.
SELECT d.destination, d.ordering_key, o.command_id, d.state, (
  SELECT count(*) FROM counterfoil_delivery w
  WHERE w.destination = d.destination AND w.ordering_key = d.ordering_key
    AND w.ordering_key IS NOT NULL AND w.turn IS NULL AND w.key_seq > d.key_seq
    AND w.state = 'pending') AS waiting
FROM counterfoil_delivery d INDEXED BY counterfoil_delivery_parked
CROSS JOIN counterfoil_outbox o ON o.n = d.n
WHERE d.ordering_key IS NOT NULL
  AND (d.state = 'dead' OR d.state = 'uncertain' OR d.state = 'conflict')
  AND NOT EXISTS (SELECT 1 FROM counterfoil_delivery b
    WHERE b.destination = d.destination AND b.ordering_key = d.ordering_key
      AND b.ordering_key IS NOT NULL AND b.turn IS NULL AND b.key_seq < d.key_seq)
  AND NOT EXISTS (
    SELECT 1 FROM counterfoil_lane l CROSS JOIN counterfoil_delivery t ON t.turn = l.n
    WHERE l.destination = d.destination AND l.ordering_key = d.ordering_key)
ORDER BY waiting DESC, d.n;

-- by delivery_parked, then delivery_lane, delivery_turn, destination_pkey and
-- outbox_pkey: parked heads of lanes whose turn nobody has, and how many wait behind.
SELECT d.destination, d.ordering_key, o.command_id, d.state, w.waiting,
  (SELECT s.contract FROM cf.destination s WHERE s.name = d.destination)
FROM cf.delivery d JOIN cf.outbox o ON o.n = d.n CROSS JOIN LATERAL (
  SELECT count(*) AS waiting FROM cf.delivery v
  WHERE v.destination = d.destination AND v.ordering_key = d.ordering_key
    AND v.ordering_key IS NOT NULL AND v.key_seq > d.key_seq AND v.state = 'pending') w
WHERE d.ordering_key IS NOT NULL AND d.state IN ('dead', 'uncertain', 'conflict')
  AND w.waiting > 0
  AND NOT EXISTS (SELECT 1 FROM cf.delivery b
    WHERE b.destination = d.destination AND b.ordering_key = d.ordering_key
      AND b.ordering_key IS NOT NULL AND b.key_seq < d.key_seq)
  AND NOT EXISTS (SELECT 1 FROM cf.delivery t
    WHERE t.destination = d.destination AND t.ordering_key = d.ordering_key
      AND t.turn IS NOT NULL)
ORDER BY w.waiting DESC, d.n;

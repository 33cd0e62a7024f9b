-- by scan of delivery, by rowid and by counterfoil_delivery_lane: what is left is asked when a relay
-- may end, of open rows only; what waits behind a parked head of its lane is counted by itself.
SELECT d.destination, d.state, count(*),
  sum(d.state = 'pending' AND d.available_at > ?1
    AND (SELECT o.not_before FROM counterfoil_outbox o WHERE o.n = d.n) > ?1),
  sum(d.lease_until IS NOT NULL AND d.lease_until > ?1),
  sum(d.state = 'pending' AND d.available_at IS NULL AND d.ordering_key IS NOT NULL
    AND (SELECT h.state IN ('dead', 'uncertain', 'conflict') FROM counterfoil_delivery h
      WHERE h.destination = d.destination AND h.ordering_key = d.ordering_key
        AND h.ordering_key IS NOT NULL ORDER BY h.key_seq LIMIT 1))
FROM counterfoil_delivery d GROUP BY d.destination, d.state;

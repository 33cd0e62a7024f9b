-- by scan of delivery and by rowid: what is left is asked when a relay may end, of open rows only.
SELECT d.destination, d.state, count(*),
  sum(d.state = 'pending' AND d.available_at > ?1
    AND (SELECT o.not_before FROM counterfoil_outbox o WHERE o.n = d.n) > ?1),
  sum(d.lease_until IS NOT NULL AND d.lease_until > ?1)
FROM counterfoil_delivery d GROUP BY d.destination, d.state;

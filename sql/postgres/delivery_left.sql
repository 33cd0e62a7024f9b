-- by scan of delivery, outbox_pkey, delivery_turn and delivery_lane: what is left is asked when a
-- relay may end, of open rows only. Of those that wait in a lane, it counts those whose turn is
-- with one that no relay works on now, and those that a parked head blocks.
WITH told AS MATERIALIZED (SELECT cf.micros() AS now),
open AS (
  SELECT d.destination, d.state, d.ordering_key, t.now, d.lease_until > t.now AS is_leased,
    d.state = 'pending' AND d.available_at IS NULL AND d.ordering_key IS NOT NULL AS waits,
    d.state = 'pending' AND coalesce(d.available_at > t.now, true) AND coalesce(
      (SELECT o.not_before FROM cf.outbox o WHERE o.n = d.n) > t.now, false) AS is_early
  FROM cf.delivery d, told t
)
SELECT d.destination, d.state, count(*), count(*) FILTER (WHERE d.is_early),
  count(*) FILTER (WHERE d.is_leased),
  count(*) FILTER (WHERE d.waits AND NOT d.is_early AND (
    SELECT h.state = 'published' OR (h.state = 'pending' AND h.available_at > d.now
      AND (SELECT o.not_before FROM cf.outbox o WHERE o.n = h.n) > d.now)
    FROM cf.delivery h
    WHERE h.destination = d.destination AND h.ordering_key = d.ordering_key
      AND h.turn IS NOT NULL)),
  count(*) FILTER (WHERE d.waits AND NOT d.is_early AND NOT EXISTS (
      SELECT 1 FROM cf.delivery h
      WHERE h.destination = d.destination AND h.ordering_key = d.ordering_key
        AND h.turn IS NOT NULL)
    AND (SELECT h.state IN ('dead', 'uncertain', 'conflict') FROM cf.delivery h
      WHERE h.destination = d.destination AND h.ordering_key = d.ordering_key
        AND h.ordering_key IS NOT NULL ORDER BY h.key_seq LIMIT 1))
FROM open d GROUP BY d.destination, d.state;

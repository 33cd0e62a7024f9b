-- by delivery_lane, delivery_turn and delivery_pkey: one that waits with the turn gives it back to
-- one before it, under the lock of the lane; see lane_turn.
WITH freed AS MATERIALIZED (
  SELECT DISTINCT f.destination, f.ordering_key, f.skips
  FROM unnest($1::text[], $2::text[], $3::bool[]) AS f(destination, ordering_key, skips)
),
ours AS MATERIALIZED (
  SELECT * FROM freed f WHERE pg_try_advisory_xact_lock(
    hashtextextended('cf.lane ' || length(f.destination) || f.destination || f.ordering_key, 0))
),
behind AS MATERIALIZED (
  SELECT h.n FROM ours f CROSS JOIN LATERAL (
    SELECT v.n, v.key_seq FROM cf.delivery v
    WHERE v.destination = f.destination AND v.ordering_key = f.ordering_key
      AND v.ordering_key IS NOT NULL AND (NOT f.skips OR v.state = 'pending')
    ORDER BY v.key_seq LIMIT 1
  ) a JOIN cf.delivery h ON h.destination = f.destination AND h.ordering_key = f.ordering_key
    AND h.turn IS NOT NULL AND h.state = 'pending' AND h.key_seq > a.key_seq
),
free AS MATERIALIZED (
  SELECT v.n FROM behind b JOIN cf.delivery v ON v.n = b.n
  WHERE v.state = 'pending' ORDER BY v.n FOR UPDATE OF v SKIP LOCKED
)
UPDATE cf.delivery v SET available_at = NULL, turn = NULL FROM free f WHERE v.n = f.n;

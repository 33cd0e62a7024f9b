-- by delivery_lane, delivery_turn, delivery_pkey and outbox_pkey: lanes whose turn nobody has give
-- it to whom it belongs. Who gives the turn of a lane holds a lock that nobody waits for. Whoever
-- is in the way of those that wait is held, so that its end comes before this look or sees what
-- this transaction leaves. What another holds is noted for a sweep. Gives whom it gave the turn,
-- and a row without a number for each note.
WITH freed AS MATERIALIZED (
  SELECT DISTINCT f.destination, f.ordering_key, f.skips
  FROM unnest($1::text[], $2::text[], $3::bool[]) AS f(destination, ordering_key, skips)
),
stand AS MATERIALIZED (
  SELECT f.destination, f.ordering_key, a.n AS first, a.state, (
    SELECT h.n FROM cf.delivery h WHERE h.destination = f.destination
      AND h.ordering_key = f.ordering_key AND h.turn IS NOT NULL) AS holder
  FROM freed f CROSS JOIN LATERAL (
    SELECT v.n, v.state FROM cf.delivery v
    WHERE v.destination = f.destination AND v.ordering_key = f.ordering_key
      AND v.ordering_key IS NOT NULL AND (NOT f.skips OR v.state = 'pending')
    ORDER BY v.key_seq LIMIT 1
  ) a
),
ours AS MATERIALIZED (
  SELECT s.first AS n FROM stand s
  WHERE s.holder IS NULL AND s.state = 'pending' AND pg_try_advisory_xact_lock(
    hashtextextended('cf.lane ' || length(s.destination) || s.destination || s.ordering_key, 0))
),
free AS MATERIALIZED (
  SELECT v.n FROM ours o JOIN cf.delivery v ON v.n = o.n
  WHERE v.state = 'pending' AND v.turn IS NULL ORDER BY v.n FOR UPDATE OF v SKIP LOCKED
),
given AS (
  UPDATE cf.delivery v SET turn = 1,
    available_at = greatest(coalesce($4::bigint, (SELECT cf.micros())),
      (SELECT o.not_before FROM cf.outbox o WHERE o.n = v.n))
  FROM free f WHERE v.n = f.n RETURNING v.n, v.destination, v.available_at
),
held AS MATERIALIZED (
  SELECT v.n FROM stand s JOIN cf.delivery v ON v.n = coalesce(s.holder, s.first)
  WHERE s.holder IS NOT NULL OR s.state <> 'pending' ORDER BY v.n FOR KEY SHARE OF v SKIP LOCKED
),
noted AS (
  INSERT INTO cf.lane_freed(destination, ordering_key)
  SELECT s.destination, s.ordering_key FROM stand s
  WHERE coalesce(s.holder, s.first) NOT IN (SELECT f.n FROM free f UNION ALL
    SELECT h.n FROM held h)
  RETURNING destination
)
SELECT n, destination, available_at FROM given
UNION ALL SELECT NULL, destination, NULL FROM noted;

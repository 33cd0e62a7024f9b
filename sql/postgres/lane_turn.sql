-- by delivery_lane, delivery_turn, delivery_pkey and outbox_pkey: lanes whose turn nobody has give
-- it to whom it belongs. Who gives the turn of a lane holds a lock that nobody waits for; what is
-- held by others is left to a sweep.
WITH freed AS MATERIALIZED (
  SELECT DISTINCT f.destination, f.ordering_key, f.skips
  FROM unnest($1::text[], $2::text[], $3::bool[]) AS f(destination, ordering_key, skips)
),
ours AS MATERIALIZED (
  SELECT * FROM freed f WHERE pg_try_advisory_xact_lock(
    hashtextextended('cf.lane ' || length(f.destination) || f.destination || f.ordering_key, 0))
),
first AS MATERIALIZED (
  SELECT a.n FROM ours f CROSS JOIN LATERAL (
    SELECT v.n, v.state FROM cf.delivery v
    WHERE v.destination = f.destination AND v.ordering_key = f.ordering_key
      AND v.ordering_key IS NOT NULL AND (NOT f.skips OR v.state = 'pending')
    ORDER BY v.key_seq LIMIT 1
  ) a
  WHERE a.state = 'pending' AND NOT EXISTS (
    SELECT 1 FROM cf.delivery h WHERE h.destination = f.destination
      AND h.ordering_key = f.ordering_key AND h.turn IS NOT NULL)
),
free AS MATERIALIZED (
  SELECT v.n FROM first f JOIN cf.delivery v ON v.n = f.n
  WHERE v.state = 'pending' AND v.turn IS NULL ORDER BY v.n FOR UPDATE OF v SKIP LOCKED
)
UPDATE cf.delivery v SET turn = 1, available_at = greatest($4::bigint,
  coalesce((SELECT o.not_before FROM cf.outbox o WHERE o.n = v.n), $4::bigint))
FROM free f WHERE v.n = f.n RETURNING v.n;

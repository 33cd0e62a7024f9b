-- by delivery_lane, delivery_pkey and outbox_pkey: who came to a lane where nobody is before it has
-- the turn; under the lock of the lane, see lane_turn. The only one before it is held, so that it
-- ends before this look or after this commit, and the turn is not lost. Tells whether somebody
-- parked stands first.
WITH came AS MATERIALIZED (
  SELECT c.n, c.destination, c.ordering_key, c.key_seq, (
    SELECT count(*) FROM (
      SELECT 1 FROM cf.delivery v
      WHERE v.destination = c.destination AND v.ordering_key = c.ordering_key
        AND v.ordering_key IS NOT NULL AND v.key_seq < c.key_seq
      ORDER BY v.key_seq LIMIT 2) two) AS before
  FROM unnest($1::bigint[], $2::text[], $3::text[], $4::bigint[])
    AS c(n, destination, ordering_key, key_seq)
),
held AS MATERIALIZED (
  SELECT c.*, h.n AS head, h.state FROM came c LEFT JOIN LATERAL (
    SELECT v.n, v.state FROM cf.delivery v
    WHERE c.before = 1 AND v.destination = c.destination AND v.ordering_key = c.ordering_key
      AND v.ordering_key IS NOT NULL AND v.key_seq < c.key_seq
    ORDER BY v.key_seq LIMIT 1 FOR KEY SHARE OF v) h ON true
),
ours AS MATERIALIZED (
  SELECT h.n FROM held h WHERE h.before < 2 AND h.head IS NULL AND pg_try_advisory_xact_lock(
    hashtextextended('cf.lane ' || length(h.destination) || h.destination || h.ordering_key, 0))
),
given AS (
  UPDATE cf.delivery v SET turn = 1, available_at = greatest($5::bigint,
    coalesce((SELECT o.not_before FROM cf.outbox o WHERE o.n = v.n), $5::bigint))
  FROM ours WHERE v.n = ours.n AND v.turn IS NULL
)
SELECT h.destination, h.ordering_key FROM held h WHERE coalesce(h.state, (
  SELECT v.state FROM cf.delivery v
  WHERE v.destination = h.destination AND v.ordering_key = h.ordering_key
    AND v.ordering_key IS NOT NULL AND v.key_seq < h.key_seq
  ORDER BY v.key_seq LIMIT 1)) IN ('dead', 'uncertain', 'conflict');

-- by delivery_lane, delivery_pkey and outbox_pkey: who came to a lane where nobody is before it has
-- the turn. The only one before it that is not parked is held, so that it ends before this look or
-- after this commit, and sees who came; behind two the nearer one gives the turn on. Tells of whom
-- only parked ones are before, and who must look again, since another holds the one before it.
WITH came AS MATERIALIZED (
  SELECT c.n, c.destination, c.ordering_key, c.key_seq, count(b.n) AS unparked, min(b.n) AS head
  FROM unnest($1::bigint[], $2::text[], $3::text[], $4::bigint[])
    AS c(n, destination, ordering_key, key_seq)
  LEFT JOIN LATERAL (
    SELECT v.n FROM cf.delivery v
    WHERE v.destination = c.destination AND v.ordering_key = c.ordering_key
      AND v.ordering_key IS NOT NULL AND v.key_seq < c.key_seq
      AND v.state NOT IN ('dead', 'uncertain', 'conflict')
    ORDER BY v.key_seq DESC LIMIT 2) b ON true
  GROUP BY c.n, c.destination, c.ordering_key, c.key_seq
),
behind AS MATERIALIZED (
  SELECT c.n, c.unparked, EXISTS (
    SELECT 1 FROM cf.delivery v
    WHERE c.unparked = 0 AND v.destination = c.destination AND v.ordering_key = c.ordering_key
      AND v.ordering_key IS NOT NULL AND v.key_seq < c.key_seq) AS parked
  FROM came c
),
held AS MATERIALIZED (
  SELECT v.n FROM came c JOIN cf.delivery v ON v.n = c.head
  WHERE c.unparked = 1 AND v.state NOT IN ('dead', 'uncertain', 'conflict')
  ORDER BY v.n FOR KEY SHARE OF v SKIP LOCKED
),
given AS (
  UPDATE cf.delivery v SET turn = 1, available_at = greatest($5::bigint,
    (SELECT o.not_before FROM cf.outbox o WHERE o.n = v.n))
  FROM behind b WHERE b.unparked = 0 AND NOT b.parked AND v.n = b.n AND v.turn IS NULL
)
SELECT b.n, b.parked FROM behind b JOIN came c ON c.n = b.n
WHERE b.parked OR (b.unparked = 1 AND c.head NOT IN (SELECT h.n FROM held h));

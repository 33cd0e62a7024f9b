-- by delivery_due, destination_pkey and outbox_pkey: what is due at one destination
-- and nobody else holds, oldest first, from the floor on; nothing where it is paused or has another
-- contract. Each claim walks what the claims of others hold, so only four look at a time; their
-- locks end with their transactions, nobody waits for one, and who insists looks without. A body
-- of more than so many bytes stays where it is, and its length is told. There is one row at least,
-- with the time, what the destination's row says, and whether it was let in.
WITH clock AS MATERIALIZED (SELECT cf.micros() AS now),
place AS MATERIALIZED (
  SELECT coalesce(contract, '') AS contract, coalesce(contract = $2::text, false) AS agrees,
    paused_at IS NOT NULL AS paused
  FROM cf.destination WHERE name = $1::text
),
let_in AS MATERIALIZED (
  SELECT EXISTS (SELECT FROM generate_series(1, 4) AS s(slot) WHERE pg_try_advisory_xact_lock(
    hashtextextended('cf.claim ' || s.slot || ' ' || $1::text, 0))) AS yes
),
due AS MATERIALIZED (
  SELECT d.n, d.state, d.round, d.round_since, d.attempts, d.asks, d.in_doubt, d.available_at,
    d.token, d.lease_until, d.lease_owner, d.first_sent_at, d.last_lease_until, d.last_outcome,
    d.key_seq, d.digest
  FROM cf.delivery d
  WHERE d.destination = $1::text AND d.available_at >= $3::bigint
    AND d.available_at <= (SELECT now FROM clock)
    AND (SELECT agrees AND NOT paused FROM place) AND (SELECT yes OR $6::bool FROM let_in)
  ORDER BY d.available_at, d.n LIMIT $4::bigint FOR UPDATE OF d SKIP LOCKED
)
SELECT d.n, d.state, d.round, d.round_since, d.attempts, d.asks, d.in_doubt, d.available_at,
  d.token, d.lease_until, d.lease_owner, d.first_sent_at, d.last_lease_until, d.last_outcome,
  d.key_seq, o.n, o.command_id, o.stream, o.seq, o.idx, o.destination, o.kind, o.ordering_key,
  CASE WHEN octet_length(o.body) <= $5::bigint THEN o.body END, o.content_type, o.headers,
  o.core_digest, o.not_before, o.expires_at, o.recorded_at,
  c.now, p.paused, CASE WHEN NOT p.agrees THEN p.contract END,
  CASE WHEN octet_length(o.body) > $5::bigint THEN octet_length(o.body)::bigint END,
  (SELECT yes FROM let_in)
FROM clock c LEFT JOIN place p ON true LEFT JOIN due d ON true LEFT JOIN cf.outbox o ON o.n = d.n
ORDER BY d.available_at, d.n;

-- by outbox_command_id_key, archived_pkey, lane_pkey and event_pkey: new intents with their
-- deliveries. Those of a decision count only behind their event. Who stands in outbox or archive is
-- told in one snapshot, since an archive moves rows; a twin in flight is waited for. Ids are locked
-- in their own order, numbered in the order given. In a lane each waits for its turn.
WITH told AS MATERIALIZED (SELECT coalesce($14::bigint, cf.micros()) AS now),
given AS MATERIALIZED (
  SELECT nextval('cf.outbox_n_seq'::regclass) AS n, f.* FROM (
    SELECT g.* FROM unnest($1::text[], $2::text[], $3::bigint[], $4::int[], $5::text[],
      $6::text[], $7::text[], $8::bytea[], $9::text[], $10::text[], $11::text[], $12::bigint[],
      $13::bigint[]) WITH ORDINALITY
      AS g(command_id, stream, seq, idx, destination, kind, ordering_key, body, content_type,
        headers, core_digest, not_before, expires_at, place)
    WHERE NOT EXISTS (SELECT 1 FROM cf.outbox o WHERE o.command_id = g.command_id)
      AND NOT EXISTS (SELECT 1 FROM cf.archived a WHERE a.command_id = g.command_id)
      AND ($15::text IS NULL OR EXISTS (SELECT 1 FROM cf.event e WHERE e.stream = $15::text
        AND e.seq = $16::bigint AND e.xmin = pg_current_xact_id()::xid))
    ORDER BY g.place
  ) f
),
made AS (
  INSERT INTO cf.outbox(n, command_id, stream, seq, idx, destination, kind, ordering_key, body,
    content_type, headers, core_digest, not_before, expires_at, recorded_at)
  OVERRIDING SYSTEM VALUE
  SELECT g.n, g.command_id, g.stream, g.seq, g.idx, g.destination, g.kind, g.ordering_key, g.body,
    g.content_type, g.headers, g.core_digest, g.not_before, g.expires_at, t.now
  FROM given g, told t ORDER BY g.command_id
  ON CONFLICT (command_id) DO NOTHING
  RETURNING n, command_id, destination, ordering_key, not_before, expires_at
),
drawn AS (
  INSERT INTO cf.lane(destination, ordering_key, last)
  SELECT m.destination, m.ordering_key, count(*) FROM made m WHERE m.ordering_key IS NOT NULL
  GROUP BY m.destination, m.ordering_key ORDER BY m.destination, m.ordering_key
  ON CONFLICT (destination, ordering_key) DO UPDATE SET last = lane.last + excluded.last
  RETURNING destination, ordering_key, last
),
placed AS (
  SELECT m.*, NULL::bigint AS key_seq FROM made m WHERE m.ordering_key IS NULL
  UNION ALL
  SELECT m.*, d.last - count(*) OVER (PARTITION BY m.destination, m.ordering_key)
    + row_number() OVER (PARTITION BY m.destination, m.ordering_key ORDER BY m.n)
  FROM drawn d
  JOIN made m ON m.destination = d.destination AND m.ordering_key = d.ordering_key
),
waiting AS (
  INSERT INTO cf.delivery(n, destination, state, available_at, expires_at, ordering_key, key_seq)
  SELECT p.n, p.destination, 'pending',
    CASE WHEN p.ordering_key IS NULL THEN coalesce(p.not_before, t.now) END,
    p.expires_at, p.ordering_key, p.key_seq
  FROM placed p, told t
)
SELECT t.now, p.n, p.command_id, p.destination, p.ordering_key, p.key_seq
FROM told t LEFT JOIN placed p ON true;

-- by delivery_pkey: plain success of attempts whose state and token are their own. Deliveries are
-- locked in the order given, that of n, and those that others hold are left for a later settle.
-- Written so that no statistics can make it walk a table, or what is given, for each row: a lateral
-- part with a limit is looked up for each, an array by the index, and an IN that is TRUE is hashed.
WITH free AS MATERIALIZED (
  SELECT g.*
  FROM unnest($1::bigint[], $2::bigint[], $3::int[], $4::int[], $5::bigint[],
    $6::bigint[], $7::text[], $8::bytea[], $9::bytea[], $10::bytea[], $11::text[], $12::text[])
    AS g(n, token, round, attempts, first_sent_at, key_seq, destination, digest, row_digest,
      result, evidence, source)
  CROSS JOIN LATERAL (
    SELECT FROM cf.delivery d WHERE d.n = g.n AND d.token = g.token AND d.state = 'sending'
    LIMIT 1 FOR UPDATE OF d SKIP LOCKED
  ) AS held
),
ended AS (
  DELETE FROM cf.delivery d WHERE d.n = ANY(ARRAY(SELECT f.n FROM free f)) RETURNING d.n
),
kept AS (
  INSERT INTO cf.receipt(n, token, first_sent_at, key_seq, recorded_at, round, attempts, outcome,
    source, destination, evidence, digest, row_digest, result)
  SELECT f.n, f.token, f.first_sent_at, f.key_seq, (SELECT cf.micros()), f.round, f.attempts,
    'completed', f.source, f.destination, f.evidence, f.digest, f.row_digest, f.result
  FROM free f WHERE (f.n IN (SELECT e.n FROM ended e)) IS TRUE RETURNING n, destination
),
counted AS (
  INSERT INTO cf.tally(destination, outcome, count)
  SELECT destination, 'completed', count(*) FROM kept GROUP BY destination
)
SELECT n FROM kept;

-- by delivery_pkey: plain success of attempts whose state and token are their own. Deliveries are
-- locked in the order of n, and those that others hold are left for a later settle.
WITH given AS MATERIALIZED (
  SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::int[], $4::int[], $5::bigint[],
    $6::bigint[], $7::text[], $8::bytea[], $9::bytea[], $10::bytea[], $11::text[], $12::text[])
    AS g(n, token, round, attempts, first_sent_at, key_seq, destination, digest, row_digest,
      result, evidence, source)
),
free AS MATERIALIZED (
  SELECT d.n FROM given g JOIN cf.delivery d ON d.n = g.n AND d.token = g.token
  WHERE d.state = 'sending' ORDER BY d.n FOR UPDATE OF d SKIP LOCKED
),
ended AS (DELETE FROM cf.delivery d USING free f WHERE d.n = f.n RETURNING d.n),
kept AS (
  INSERT INTO cf.receipt(n, token, first_sent_at, key_seq, recorded_at, round, attempts, outcome,
    source, destination, evidence, digest, row_digest, result)
  SELECT g.n, g.token, g.first_sent_at, g.key_seq, (SELECT cf.micros()), g.round, g.attempts,
    'completed', g.source, g.destination, g.evidence, g.digest, g.row_digest, g.result
  FROM ended e JOIN given g ON g.n = e.n RETURNING n, destination
),
counted AS (
  INSERT INTO cf.tally(destination, outcome, count)
  SELECT destination, 'completed', count(*) FROM kept GROUP BY destination
)
SELECT n FROM kept;

-- by outbox_pkey, receipt_pkey and attempt_n: in the transaction that has just read and locked
-- them, each command goes and its tombstone comes.
WITH given AS MATERIALIZED (
  SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::text[], $6::bytea[],
    $7::text[], $8::int[], $9::bytea[])
    AS g(n, command_id, destination, kind, ordering_key, digest, outcome, rounds, row_digest)
),
tried AS (DELETE FROM cf.attempt a USING given g WHERE a.n = g.n),
ended AS (DELETE FROM cf.receipt r USING given g WHERE r.n = g.n),
gone AS (DELETE FROM cf.outbox o USING given g WHERE o.n = g.n RETURNING o.n)
INSERT INTO cf.archived(command_id, destination, kind, ordering_key, digest, outcome, rounds, file,
  row_digest)
SELECT g.command_id, g.destination, g.kind, g.ordering_key, g.digest, g.outcome, g.rounds,
  $10::text, g.row_digest
FROM gone JOIN given g ON g.n = gone.n ORDER BY g.command_id
RETURNING command_id;

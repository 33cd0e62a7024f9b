-- by receipt_pkey.
SELECT n, round, outcome, result, evidence, source, attempts, token, first_sent_at, recorded_at,
  key_seq, destination, digest, row_digest
FROM cf.receipt WHERE n BETWEEN $1::bigint AND $2::bigint ORDER BY n, round;

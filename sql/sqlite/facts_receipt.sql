-- by sqlite_autoindex_counterfoil_receipt_1, a range of it.
SELECT n, round, outcome, result, evidence, source, attempts, token, first_sent_at, recorded_at,
  key_seq, destination, digest, row_digest, rowid
FROM counterfoil_receipt WHERE n > ?1 AND n <= ?2 ORDER BY n, round;

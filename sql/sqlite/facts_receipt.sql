-- by sqlite_autoindex_counterfoil_receipt_1, a range of it. A mark is no receipt.
SELECT n, round, outcome, result, evidence, source, attempts, token, first_sent_at, recorded_at,
  key_seq, destination, digest, row_digest, rowid
FROM counterfoil_receipt WHERE n BETWEEN ?1 AND ?2
  AND (n <> 0 OR (round, outcome, source, destination, attempts, token)
      <> (0, 'archived', 'archive', '', 0, 0)
    OR coalesce(result, evidence, first_sent_at, key_seq, digest, row_digest) IS NOT NULL)
ORDER BY n, round;

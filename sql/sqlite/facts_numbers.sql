-- by rowid, sqlite_autoindex_counterfoil_receipt_1 and counterfoil_attempt_n, each from the cursor
-- on and no further than the page. A mark, exactly as it is written, is of no command.
SELECT n FROM (
  SELECT n FROM (SELECT n FROM counterfoil_outbox WHERE n >= ?1 ORDER BY n LIMIT ?2)
  UNION SELECT n FROM (SELECT n FROM counterfoil_delivery WHERE n >= ?1 ORDER BY n LIMIT ?2)
  UNION SELECT n FROM (
    SELECT DISTINCT n FROM counterfoil_receipt WHERE n >= ?1
      AND (n <> 0 OR (round, outcome, source, destination, attempts, token)
          <> (0, 'archived', 'archive', '', 0, 0)
        OR coalesce(result, evidence, first_sent_at, key_seq, digest, row_digest) IS NOT NULL)
    ORDER BY n LIMIT ?2)
  UNION SELECT n FROM (
    SELECT DISTINCT n FROM counterfoil_attempt WHERE n >= ?1
      AND (n <> 0 OR (round, token, purpose, outcome) <> (0, 0, 'archive', 'archived')
        OR coalesce(reason, started_at) IS NOT NULL)
    ORDER BY n LIMIT ?2)
) ORDER BY n LIMIT ?2;

-- by rowid, sqlite_autoindex_counterfoil_receipt_1 and counterfoil_attempt_n, each from the cursor
-- on and no further than the page.
SELECT n FROM (
  SELECT n FROM (SELECT n FROM counterfoil_outbox WHERE n > ?1 ORDER BY n LIMIT ?2)
  UNION SELECT n FROM (SELECT n FROM counterfoil_delivery WHERE n > ?1 ORDER BY n LIMIT ?2)
  UNION SELECT n FROM (
    SELECT DISTINCT n FROM counterfoil_receipt WHERE n > ?1 ORDER BY n LIMIT ?2)
  UNION SELECT n FROM (
    SELECT DISTINCT n FROM counterfoil_attempt WHERE n > ?1 ORDER BY n LIMIT ?2)
) ORDER BY n LIMIT ?2;

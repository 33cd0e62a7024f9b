-- What questions were answered: those that ended a command left a receipt, all others a row of
-- attempt; two scans, once at the end of a drill.
SELECT answer, count(*) FROM (
  SELECT outcome AS answer FROM cf.attempt WHERE purpose = 'ask'
  UNION ALL
  SELECT CASE outcome WHEN 'completed' THEN 'done' ELSE 'refused' END
  FROM cf.receipt WHERE source = 'question'
) AS answers GROUP BY answer;

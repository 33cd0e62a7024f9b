-- The receiver's book in one snapshot: four scans, once at the end of a drill.
SELECT
  (SELECT count(*) FROM jobs),
  (SELECT count(*) FROM counterfoil_inbox WHERE outcome = 'completed'),
  (SELECT count(*) FROM calls),
  (SELECT count(*) FROM calls WHERE outcome = 'repeated');

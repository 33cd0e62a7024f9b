-- by rowid; one row.
SELECT clock FROM counterfoil_meta WHERE k = 1;

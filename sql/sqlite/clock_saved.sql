-- by rowid: the one row of meta.
SELECT clock FROM counterfoil_meta WHERE k = 1;

-- by rowid: the one row of meta.
UPDATE counterfoil_meta SET clock = ?1 WHERE k = 1 AND clock < ?1;

-- by rowid: whether it can be read.
SELECT stream, id, kind, name FROM counterfoil_input WHERE rowid = ?1 AND workflow IS NOT NULL;

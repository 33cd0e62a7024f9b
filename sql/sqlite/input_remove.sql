-- by rowid.
DELETE FROM counterfoil_input WHERE rowid = ?1;

-- by rowid: one that cannot be read.
UPDATE counterfoil_input SET workflow = NULL WHERE rowid = ?1;

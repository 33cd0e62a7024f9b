-- by rowid: one whose workflow has come.
UPDATE counterfoil_input SET workflow = ?2 WHERE rowid = ?1;

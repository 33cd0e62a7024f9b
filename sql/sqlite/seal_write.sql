-- by rowid: the one row of the seal, in the transaction that has just read its version.
REPLACE INTO counterfoil_seal(k, version, seal, recorded_at) VALUES (1, ?1, ?2, ?3);

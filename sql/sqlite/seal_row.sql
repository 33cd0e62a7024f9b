-- by rowid: the one row of the seal.
SELECT version, seal, recorded_at FROM counterfoil_seal WHERE k = 1;

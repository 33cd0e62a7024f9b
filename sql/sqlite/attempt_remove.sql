-- by counterfoil_attempt_n: all of an archived command, or the mark.
DELETE FROM counterfoil_attempt WHERE n = ?1;

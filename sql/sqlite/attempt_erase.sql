-- by counterfoil_attempt_n: all of a command.
UPDATE counterfoil_attempt SET reason = NULL WHERE n = ?1;

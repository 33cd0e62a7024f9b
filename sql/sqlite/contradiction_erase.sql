-- by counterfoil_contradiction_command.
UPDATE counterfoil_contradiction SET result = NULL, evidence = NULL WHERE command_id = ?1;

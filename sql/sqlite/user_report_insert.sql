-- by none: on the user's own connection the guards of the view judge it, and write what follows.
INSERT INTO counterfoil_report(command_id, outcome, result, evidence, token)
VALUES (?1, ?2, ?3, ?4, ?5);

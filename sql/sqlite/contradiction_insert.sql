-- by none: it appends.
INSERT INTO counterfoil_contradiction(command_id, round, outcome, result, evidence, source,
  recorded_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7);

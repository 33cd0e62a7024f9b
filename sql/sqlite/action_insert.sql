-- by none: it appends.
INSERT INTO counterfoil_operator_action(verb, about, actor, reason, before, after, recorded_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7);

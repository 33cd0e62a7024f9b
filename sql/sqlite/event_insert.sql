-- by the primary key of counterfoil_event.
INSERT INTO counterfoil_event(stream, seq, kind, body, cause, commands, recorded_at, decided)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8);

-- by none: on the user's own connection the guard compares head and cause.
INSERT INTO counterfoil_event(stream, seq, kind, body, cause, commands, recorded_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER));

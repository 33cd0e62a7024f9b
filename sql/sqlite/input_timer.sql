-- by the unique index of stream and id: one of an id that stands is set anew.
INSERT INTO counterfoil_input(stream, id, kind, name, due_at, workflow, recorded_at)
VALUES (?1, ?2, 'timer', ?3, ?4, ?5, ?6)
ON CONFLICT(stream, id) DO UPDATE SET due_at = excluded.due_at;

-- by the primary key of counterfoil_destination: a pause that stands is not made again.
INSERT INTO counterfoil_destination(name, paused_at, paused_by, paused_why)
VALUES (?1, ?2, ?3, ?4)
ON CONFLICT(name) DO UPDATE SET paused_at = excluded.paused_at, paused_by = excluded.paused_by,
  paused_why = excluded.paused_why
WHERE paused_at IS NULL;

-- by the primary key of counterfoil_event.
SELECT stream, seq, kind, body, cause, commands, recorded_at, decided, file, digest
FROM counterfoil_event WHERE stream = ?1 AND seq = ?2;

-- by the primary key of counterfoil_event, from the cursor on.
SELECT stream, seq, kind, body, cause, commands, recorded_at, decided, file, digest
FROM counterfoil_event WHERE (stream, seq) > (?1, ?2) ORDER BY stream, seq LIMIT ?3;

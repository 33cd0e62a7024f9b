-- by counterfoil_event_file from the cursor on, then by the primary key.
SELECT stream, seq, kind, body, cause, commands, recorded_at, decided, file, digest
FROM counterfoil_event INDEXED BY counterfoil_event_file
WHERE file IS NOT NULL AND (stream, seq) > (?1, ?2) ORDER BY stream, seq LIMIT ?3;

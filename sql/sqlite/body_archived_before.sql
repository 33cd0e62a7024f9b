-- by counterfoil_event_file, then by the primary key: the newest of a stream first.
SELECT stream, seq, kind, body, cause, commands, recorded_at, decided, file, digest
FROM counterfoil_event INDEXED BY counterfoil_event_file
WHERE file IS NOT NULL AND stream = ?1 AND seq < ?2 ORDER BY seq DESC LIMIT ?3;

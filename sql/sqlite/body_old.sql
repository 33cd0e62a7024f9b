-- by the primary key of counterfoil_event: of a range of a stream, events whose bodies are here,
-- old enough, and long enough to be archived.
SELECT stream, seq, kind, body, cause, commands, recorded_at, decided, file, digest
FROM counterfoil_event
WHERE stream = ?1 AND seq > ?2 AND seq <= ?3 AND file IS NULL AND digest IS NULL
  AND recorded_at < ?4 AND length(CAST(body AS BLOB)) >= ?5
ORDER BY seq;

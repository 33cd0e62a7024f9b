-- by the primary key of counterfoil_stream.
SELECT stream, workflow, version, status, head, reason, input, changed_at
FROM counterfoil_stream
WHERE stream = ?1 AND workflow IS NOT NULL;

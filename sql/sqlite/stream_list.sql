-- by the primary key of counterfoil_stream from the cursor on.
SELECT stream, workflow, version, status, head, reason, input, changed_at
FROM counterfoil_stream
WHERE workflow IS NOT NULL AND stream > ?1 AND (?2 IS NULL OR workflow = ?2)
  AND (?3 IS NULL OR status = ?3)
ORDER BY stream LIMIT ?4;

-- by counterfoil_stream_status from the cursor on: of any status but completed.
SELECT stream, workflow, version, status, head, reason, input, changed_at
FROM counterfoil_stream
WHERE status = ?3 AND status <> 'completed' AND workflow IS NOT NULL AND stream > ?1
  AND (?2 IS NULL OR workflow = ?2)
ORDER BY stream LIMIT ?4;

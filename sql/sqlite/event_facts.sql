-- by the primary keys of counterfoil_event, from the cursor on, and counterfoil_stream.
SELECT stream, seq, commands,
  coalesce((SELECT max(b.seq) FROM counterfoil_event b
    WHERE b.stream = e.stream AND b.seq < e.seq), 0),
  file, length(digest),
  CASE WHEN file IS NOT NULL OR digest IS NOT NULL THEN length(CAST(body AS BLOB)) ELSE 0 END,
  (file IS NOT NULL OR digest IS NOT NULL) AND EXISTS (SELECT 1 FROM counterfoil_stream s
    WHERE s.stream = e.stream AND s.workflow IS NOT NULL)
FROM counterfoil_event e WHERE (stream, seq) > (?1, ?2) ORDER BY stream, seq LIMIT ?3;

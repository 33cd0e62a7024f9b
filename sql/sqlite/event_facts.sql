-- by the primary key of counterfoil_event, from the cursor on.
SELECT stream, seq, commands,
  coalesce((SELECT max(b.seq) FROM counterfoil_event b
    WHERE b.stream = e.stream AND b.seq < e.seq), 0)
FROM counterfoil_event e WHERE (stream, seq) > (?1, ?2) ORDER BY stream, seq LIMIT ?3;

-- by event_pkey: a page ends with the event by which it has 4 MiB of bodies and decisions.
SELECT p.seq, p.kind, p.body, p.cause, p.commands, p.recorded_at, p.decided, p.file, p.digest
FROM (
  SELECT e.*, sum(octet_length(e.body) + coalesce(octet_length(e.decided), 0))
    OVER (ORDER BY e.seq ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
  FROM (SELECT w.seq, w.kind, w.body, w.cause, w.commands, w.recorded_at, w.decided, w.file,
      w.digest FROM cf.event w
    WHERE w.stream = $1::text AND w.seq > $2::bigint ORDER BY w.seq LIMIT $3::bigint) e
) p
WHERE p.before IS NULL OR p.before < 4194304
ORDER BY p.seq;

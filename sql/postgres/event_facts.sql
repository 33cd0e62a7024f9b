-- by event_pkey from the cursor on, then outbox_command_id_key, archived_pkey and stream_pkey:
-- generated ids begin with stream and seq, and ; is the character after the colon behind it.
SELECT p.stream, p.seq, p.commands,
  coalesce((SELECT max(b.seq) FROM cf.event b WHERE b.stream = p.stream AND b.seq < p.seq), 0),
  (SELECT count(*) FROM cf.outbox o
    WHERE o.command_id >= p.stream || ':' || p.seq || ':'
      AND o.command_id < p.stream || ':' || p.seq || ';'
      AND o.stream = p.stream AND o.seq = p.seq)
  + (SELECT count(*) FROM cf.archived a
    WHERE a.command_id >= p.stream || ':' || p.seq || ':'
      AND a.command_id < p.stream || ':' || p.seq || ';'
      AND substr(a.command_id, length(p.stream || ':' || p.seq || ':') + 1) !~ '[^0-9]'),
  p.file, p.digest_bytes, p.bytes,
  p.bytes IS NOT NULL AND EXISTS (SELECT 1 FROM cf.stream s
    WHERE s.stream = p.stream AND s.workflow IS NOT NULL)
FROM (SELECT e.stream, e.seq, e.commands, e.file, octet_length(e.digest) AS digest_bytes,
    CASE WHEN e.file IS NOT NULL OR e.digest IS NOT NULL THEN octet_length(e.body) END AS bytes
  FROM cf.event e
  WHERE (e.stream, e.seq) > ($1::text, $2::bigint) ORDER BY e.stream, e.seq LIMIT $3::bigint) p
ORDER BY p.stream, p.seq;

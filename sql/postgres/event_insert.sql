-- by event_pkey, event_cause, stream_pkey, outbox_command_id_key and archived_pkey: the events of a
-- decision, if the stream is where it expects it, no workflow's, and no cause and no id is taken. A
-- twin in flight is waited for; fewer rows than given are a refusal.
WITH told AS MATERIALIZED (SELECT cf.micros() AS now),
stands AS MATERIALIZED (
  SELECT coalesce((SELECT max(seq) FROM cf.event WHERE stream = $1::text),
      (SELECT head FROM cf.stream WHERE stream = $1::text), 0) AS head,
    EXISTS (SELECT 1 FROM cf.stream w WHERE w.stream = $1::text AND w.workflow IS NOT NULL
      AND NOT (w.status = 'quarantined' AND EXISTS (SELECT 1 FROM cf.event b
        WHERE b.stream = $1::text AND b.seq = 1
          AND NOT (starts_with(b.kind, 'start:') AND b.cause IS NOT NULL)))) AS is_workflow,
    EXISTS (SELECT 1 FROM cf.event WHERE stream = $1::text AND cause = ANY($6::text[])
      AND cause IS NOT NULL) AS caused,
    EXISTS (SELECT 1 FROM cf.outbox WHERE command_id = ANY($8::text[])) AS issued,
    EXISTS (SELECT 1 FROM cf.archived WHERE command_id = ANY($8::text[])) AS archived
)
INSERT INTO cf.event(stream, seq, kind, body, cause, commands, recorded_at)
SELECT $1::text, g.seq, g.kind, g.body, g.cause, g.commands, t.now
FROM unnest($3::bigint[], $4::text[], $5::bytea[], $6::text[], $7::int[])
  AS g(seq, kind, body, cause, commands), told t, stands s
WHERE s.head = $2::bigint AND NOT s.is_workflow AND NOT s.caused AND NOT s.issued AND NOT s.archived
ORDER BY g.seq
ON CONFLICT DO NOTHING RETURNING seq, recorded_at;

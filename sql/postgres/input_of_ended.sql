-- by input_pkey, stream_pkey, outbox_command_id_key and receipt_pkey, each looked up by its key:
-- what came to workflows that have ended and is for none of these programs, in the columns of
-- input_due_now.sql. Long bodies make short pages.
SELECT d.stream, d.id, d.kind, d.name, d.body, NULL::bigint, d.workflow, d.version, d.status,
  d.head, true, o.command_id, o.stream, o.seq, o.idx, o.destination, o.kind, r.outcome, r.result,
  r.evidence, d.recorded_at, d.arrival
FROM (
  SELECT i.stream, i.id, i.kind, i.name, i.body, i.recorded_at, i.arrival, s.workflow, s.version,
    s.status, s.head,
    sum(octet_length(i.body)) OVER (ORDER BY i.arrival) - octet_length(i.body) AS before
  FROM unnest($1::text[], $2::text[]) AS g(stream, id)
  CROSS JOIN LATERAL (SELECT w.stream, w.id, w.kind, w.name, w.body, w.due_at, w.recorded_at,
      w.arrival, w.workflow FROM cf.input w
    WHERE w.stream = g.stream AND w.id = g.id LIMIT 1) i
  CROSS JOIN LATERAL (SELECT h.workflow, h.version, h.status, h.head FROM cf.stream h
    WHERE h.stream = i.stream LIMIT 1) s
  WHERE i.due_at IS NULL AND i.workflow <> ALL($3::text[]) AND s.workflow IS NOT NULL
    AND s.status IN ('completed', 'failed')
) d
LEFT JOIN LATERAL (
  SELECT c.n, c.command_id, c.stream, c.seq, c.idx, c.destination, c.kind FROM cf.outbox c
  WHERE d.kind = 'receipt' AND c.command_id = d.stream || substr(d.id, 8) LIMIT 1) o ON true
LEFT JOIN LATERAL (
  SELECT a.outcome, a.result, a.evidence FROM cf.receipt a
  WHERE a.n = o.n ORDER BY a.round LIMIT 1) r ON true
WHERE d.before IS NULL OR d.before <= 8388608
ORDER BY d.arrival LIMIT $4::bigint;

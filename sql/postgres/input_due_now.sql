-- by input_due in the order of arrival and of time, each no further than a page needs, then
-- stream_pkey, outbox_command_id_key and receipt_pkey, each looked up by its key: inputs that are
-- due, and what a runner must know to decide them. Whom an input waits for is told anew, since a
-- workflow may have moved while it was written. Long bodies make short pages.
WITH told AS MATERIALIZED (SELECT cf.micros() AS now),
due AS (
  SELECT k.workflow AS key, i.arrival, i.recorded_at, i.stream, i.id, i.kind, i.name, i.body,
    i.due_at,
    s.workflow, s.version, s.status, s.head,
    cf.waits_for(i.kind, i.name, s.workflow, s.version, s.status) AS waits_for,
    sum(octet_length(i.body)) OVER (PARTITION BY i.due_at IS NULL
      ORDER BY i.due_at NULLS FIRST, i.arrival) - octet_length(i.body) AS before
  FROM unnest($1::text[]) AS k(workflow)
  CROSS JOIN LATERAL (
    (SELECT d.* FROM cf.input d
    WHERE d.workflow = k.workflow AND d.workflow IS NOT NULL AND d.due_at IS NULL
      AND NOT EXISTS (SELECT 1 FROM cf.stream h WHERE h.stream = d.stream
        AND h.lease_until > (SELECT t.now FROM told t) AND h.lease_owner <> $2::text OFFSET 0)
    ORDER BY d.due_at NULLS FIRST, d.arrival LIMIT $3::bigint)
    UNION ALL
    (SELECT d.* FROM cf.input d
    WHERE d.workflow = k.workflow AND d.workflow IS NOT NULL
      AND d.due_at <= (SELECT t.now FROM told t)
      AND NOT EXISTS (SELECT 1 FROM cf.stream h WHERE h.stream = d.stream
        AND h.lease_until > (SELECT t.now FROM told t) AND h.lease_owner <> $2::text OFFSET 0)
    ORDER BY d.due_at NULLS FIRST, d.arrival LIMIT $3::bigint)
  ) i
  LEFT JOIN LATERAL (SELECT w.workflow, w.version, w.status, w.head FROM cf.stream w
    WHERE w.stream = i.stream LIMIT 1) s ON true
)
SELECT d.stream, d.id, d.kind, d.name, d.body, d.due_at, d.workflow, d.version, d.status, d.head,
  d.waits_for IS NOT DISTINCT FROM d.key, o.command_id, o.stream, o.seq, o.idx, o.destination,
  o.kind, r.outcome, r.result, r.evidence, d.recorded_at, d.arrival
FROM due d
LEFT JOIN LATERAL (
  SELECT c.n, c.command_id, c.stream, c.seq, c.idx, c.destination, c.kind FROM cf.outbox c
  WHERE d.kind = 'receipt' AND c.command_id = d.stream || substr(d.id, 8) LIMIT 1) o ON true
LEFT JOIN LATERAL (
  SELECT a.outcome, a.result, a.evidence FROM cf.receipt a
  WHERE a.n = o.n ORDER BY a.round LIMIT 1) r ON true
WHERE d.before IS NULL OR d.before <= 8388608
ORDER BY d.due_at NULLS FIRST, d.arrival;

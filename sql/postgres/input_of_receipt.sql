-- by outbox_pkey, receipt_pkey, stream_pkey and event_cause, each looked up by its key, and by
-- input_pkey, which a forged one may hold: of receipts that this transaction has written, those
-- that are the first of a workflow's command become its inputs. The workflow's row is read, never
-- locked.
INSERT INTO cf.input(stream, id, kind, name, workflow, recorded_at)
SELECT o.stream, 'receipt:' || o.seq || ':' || o.idx, 'receipt', r.outcome,
  cf.decides(s.workflow, s.version, s.status), (SELECT cf.micros())
FROM unnest($1::bigint[], $2::int[]) AS g(n, round)
CROSS JOIN LATERAL (SELECT c.stream, c.seq, c.idx FROM cf.outbox c WHERE c.n = g.n LIMIT 1) o
CROSS JOIN LATERAL (SELECT a.outcome FROM cf.receipt a
  WHERE a.n = g.n AND a.round = g.round LIMIT 1) r
CROSS JOIN LATERAL (SELECT w.workflow, w.version, w.status FROM cf.stream w
  WHERE w.stream = o.stream LIMIT 1) s
WHERE s.workflow IS NOT NULL
  AND NOT EXISTS (SELECT 1 FROM cf.receipt b WHERE b.n = g.n AND b.round < g.round OFFSET 0)
  AND NOT EXISTS (SELECT 1 FROM cf.event e
    WHERE e.stream = o.stream AND e.cause = 'receipt:' || o.seq || ':' || o.idx
      AND e.cause IS NOT NULL OFFSET 0)
ON CONFLICT (stream, id) DO NOTHING RETURNING id;

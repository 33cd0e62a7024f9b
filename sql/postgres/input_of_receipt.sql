-- by outbox_pkey, receipt_pkey, stream_pkey and event_cause, and by input_pkey, which a forged one
-- may hold: of receipts that this transaction has written, those that are the first of a workflow's
-- command become its inputs. The workflow's row is read, never locked.
INSERT INTO cf.input(stream, id, kind, name, workflow, recorded_at)
SELECT o.stream, 'receipt:' || o.seq || ':' || o.idx, 'receipt', r.outcome,
  cf.decides(s.workflow, s.version, s.status), (SELECT cf.micros())
FROM unnest($1::bigint[], $2::int[]) AS g(n, round)
JOIN cf.outbox o ON o.n = g.n
JOIN cf.receipt r ON r.n = g.n AND r.round = g.round
JOIN cf.stream s ON s.stream = o.stream
WHERE s.workflow IS NOT NULL
  AND NOT EXISTS (SELECT 1 FROM cf.receipt b WHERE b.n = g.n AND b.round < g.round)
  AND NOT EXISTS (SELECT 1 FROM cf.event e
    WHERE e.stream = o.stream AND e.cause = 'receipt:' || o.seq || ':' || o.idx
      AND e.cause IS NOT NULL)
ON CONFLICT (stream, id) DO NOTHING RETURNING id;

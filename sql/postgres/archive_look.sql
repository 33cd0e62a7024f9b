-- by outbox_pkey from the cursor on, then receipt_pkey, delivery_pkey, stream_pkey, input_pkey,
-- contradiction_command and operator_action_about: which of the next commands ended before a time,
-- how long they are, and why they stay: of a workflow that has not ended, or has an input that is
-- not decided, or contradicted with nobody who looked.
SELECT p.n, e.ended, p.bytes + e.bytes,
  e.ended AND EXISTS (SELECT 1 FROM cf.stream s
    WHERE s.stream = p.stream AND s.workflow IS NOT NULL
      AND ((s.status = 'completed' OR s.status = 'failed') IS NOT TRUE
        OR EXISTS (SELECT 1 FROM cf.input i WHERE i.stream = p.stream))),
  e.ended AND EXISTS (SELECT 1 FROM cf.contradiction c
    WHERE c.command_id = p.command_id AND NOT EXISTS (SELECT 1 FROM cf.operator_action a
      WHERE a.about = p.command_id AND a.verb = 'resolve' AND a.recorded_at >= c.recorded_at
        AND a.before IN ('completed', 'accepted', 'rejected', 'cancelled', 'expired')))
FROM (SELECT n, command_id, stream, octet_length(body)::bigint AS bytes FROM cf.outbox
  WHERE n > $1::bigint ORDER BY n LIMIT $2::bigint) p
CROSS JOIN LATERAL (
  SELECT coalesce((SELECT r.recorded_at FROM cf.receipt r WHERE r.n = p.n
      ORDER BY r.round DESC LIMIT 1) < $3::bigint, false)
    AND NOT EXISTS (SELECT 1 FROM cf.delivery d WHERE d.n = p.n) AS ended,
    (SELECT coalesce(sum(octet_length(r.result)), 0)::bigint FROM cf.receipt r WHERE r.n = p.n)
      AS bytes
) e ORDER BY p.n;

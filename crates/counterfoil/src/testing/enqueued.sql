-- the newest commands by rowid, each with its state, or the outcome of its newest receipt by
-- the primary key of counterfoil_receipt (n, round).
SELECT o.command_id, o.destination, o.kind, o.ordering_key, o.body, o.content_type,
  coalesce(d.state, (
    SELECT r.outcome FROM counterfoil_receipt r WHERE r.n = o.n ORDER BY r.round DESC LIMIT 1
  ), 'missing')
FROM counterfoil_outbox o
LEFT JOIN counterfoil_delivery d ON d.n = o.n
ORDER BY o.n DESC LIMIT ?1;

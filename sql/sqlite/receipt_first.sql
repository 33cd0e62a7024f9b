-- by sqlite_autoindex_counterfoil_outbox_1 and sqlite_autoindex_counterfoil_receipt_1: another's id
-- may look like a generated one.
SELECT o.destination, o.kind, r.outcome, r.result, r.evidence
FROM counterfoil_outbox o CROSS JOIN counterfoil_receipt r ON r.n = o.n
WHERE o.command_id = ?1 AND o.stream = ?2 AND o.seq = ?3 AND o.idx = ?4
ORDER BY r.round LIMIT 1;

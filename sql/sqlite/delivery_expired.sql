-- by counterfoil_delivery_expiry, then by rowid: the longest past first.
SELECT d.n, o.command_id, d.expires_at, o.kind
FROM counterfoil_delivery d CROSS JOIN counterfoil_outbox o ON o.n = d.n
WHERE d.expires_at IS NOT NULL AND d.state = 'pending' AND d.expires_at <= ?1
ORDER BY d.expires_at, d.n LIMIT ?2;

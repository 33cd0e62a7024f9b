-- by counterfoil_delivery_expiry, then by rowid: the longest past first. What is in doubt behind
-- another of its lane waits for its turn, at which its claim finds it expired.
SELECT d.n, o.command_id, d.expires_at, o.kind, o.stream IS NOT NULL
FROM counterfoil_delivery d CROSS JOIN counterfoil_outbox o ON o.n = d.n
WHERE d.expires_at IS NOT NULL AND d.state = 'pending' AND d.expires_at <= ?1
  AND (d.in_doubt = 0 OR d.available_at IS NOT NULL)
ORDER BY d.expires_at, d.n LIMIT ?2;

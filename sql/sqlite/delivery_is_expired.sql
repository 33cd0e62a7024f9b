-- by counterfoil_delivery_expiry, then by rowid: a delivery without its command is the audit's.
SELECT 1 FROM counterfoil_delivery d CROSS JOIN counterfoil_outbox o ON o.n = d.n
WHERE d.expires_at IS NOT NULL AND d.state = 'pending' AND d.expires_at <= ?1
  AND (d.in_doubt = 0 OR d.available_at IS NOT NULL) LIMIT 1;

-- by counterfoil_delivery_due, then by rowid.
SELECT d.n, d.state, d.round, d.round_since, d.attempts, d.asks, d.in_doubt, d.available_at,
  d.token, d.lease_until, d.lease_owner, d.first_sent_at, d.last_lease_until, d.last_outcome,
  d.key_seq, o.n, o.command_id, o.stream, o.seq, o.idx, o.destination, o.kind, o.ordering_key,
  o.body, o.content_type, o.headers, o.core_digest, o.not_before, o.expires_at, o.recorded_at
FROM counterfoil_delivery d LEFT JOIN counterfoil_outbox o ON o.n = d.n
WHERE d.available_at IS NOT NULL AND d.destination = ?1 AND d.available_at <= ?2
ORDER BY d.available_at, d.n LIMIT ?3;

-- by delivery_expiry and outbox_pkey: the longest past first, of those that nobody else holds. What
-- is in doubt behind another of its lane waits for its turn, at which its claim finds it expired.
WITH past AS MATERIALIZED (
  SELECT d.n, d.expires_at FROM cf.delivery d
  WHERE d.expires_at IS NOT NULL AND d.expires_at <= $1::bigint AND d.state = 'pending'
    AND (d.in_doubt = 0 OR d.available_at IS NOT NULL)
  ORDER BY d.expires_at, d.n LIMIT $2::bigint FOR UPDATE OF d SKIP LOCKED
)
SELECT p.n, o.command_id, p.expires_at, o.kind, o.stream IS NOT NULL
FROM past p JOIN cf.outbox o ON o.n = p.n ORDER BY p.expires_at, p.n;

-- Removes some keys whose retention is over, oldest first, by counterfoil_inbox_expiry.
DELETE FROM counterfoil_inbox WHERE (source, key) IN (
  SELECT source, key FROM counterfoil_inbox
  WHERE expires_at IS NOT NULL AND expires_at <= ?1 ORDER BY expires_at LIMIT ?2)

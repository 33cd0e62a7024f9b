-- by sqlite_autoindex_counterfoil_outbox_1, and for the digest of an erased one by the rowid of its
-- delivery or sqlite_autoindex_counterfoil_receipt_1.
SELECT o.destination, o.kind, o.ordering_key, o.body, o.erased_at IS NOT NULL,
  CASE WHEN o.erased_at IS NOT NULL THEN coalesce(
    (SELECT d.digest FROM counterfoil_delivery d WHERE d.n = o.n),
    (SELECT r.digest FROM counterfoil_receipt r WHERE r.n = o.n AND r.digest IS NOT NULL
      ORDER BY r.round DESC LIMIT 1)) END,
  o.content_type, o.headers, o.core_digest, o.not_before, o.expires_at
FROM counterfoil_outbox o WHERE o.command_id = ?1 AND o.stream = ?2;

-- by rowid, a range of it.
SELECT n, command_id, stream, seq, idx, destination, kind, ordering_key, body, content_type,
  headers, core_digest, not_before, expires_at, recorded_at, erased_at IS NOT NULL
FROM counterfoil_outbox WHERE n BETWEEN ?1 AND ?2 ORDER BY n;

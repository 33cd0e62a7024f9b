-- by rowid.
SELECT n, command_id, stream, seq, idx, destination, kind, ordering_key, body, content_type,
  headers, core_digest, not_before, expires_at, recorded_at
FROM counterfoil_outbox WHERE n = ?1;

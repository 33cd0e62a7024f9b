-- by the unique index of command_id, which answers a repeat with no row inserted.
INSERT INTO counterfoil_outbox(command_id, stream, seq, idx, destination, kind, body,
  content_type, headers, core_digest, not_before, expires_at, recorded_at, ordering_key)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)
ON CONFLICT(command_id) DO NOTHING;

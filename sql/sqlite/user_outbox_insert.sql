-- by none: on the user's own connection the guards compare what stands, and make the delivery.
INSERT INTO counterfoil_outbox(command_id, stream, seq, idx, destination, kind, body,
  content_type, headers, core_digest, not_before, expires_at, ordering_key)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13);

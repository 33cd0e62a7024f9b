-- by the primary key of counterfoil_stream.
INSERT INTO counterfoil_stream(stream, workflow, version, status, head, reason, input, changed_at)
VALUES (?1, ?2, ?3, 'quarantined', ?4, ?5, ?6, ?7)
ON CONFLICT(stream) DO UPDATE SET workflow = coalesce(workflow, excluded.workflow),
  version = CASE WHEN workflow IS NULL THEN excluded.version ELSE version END,
  status = 'quarantined', lease_owner = NULL, lease_until = NULL, reason = excluded.reason,
  input = excluded.input, changed_at = excluded.changed_at;

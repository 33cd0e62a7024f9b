-- by the primary key of counterfoil_stream: a head that an archive left is written over.
INSERT INTO counterfoil_stream(stream, workflow, version, status, head, lease_owner, lease_until,
  changed_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
ON CONFLICT(stream) DO UPDATE SET workflow = excluded.workflow, version = excluded.version,
  status = excluded.status, head = excluded.head, lease_owner = excluded.lease_owner,
  lease_until = excluded.lease_until, reason = NULL, input = NULL,
  changed_at = excluded.changed_at;

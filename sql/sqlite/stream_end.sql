-- by the primary key of counterfoil_stream: a person ends a workflow.
UPDATE counterfoil_stream SET status = 'failed', head = ?2, reason = NULL, input = NULL,
  lease_owner = NULL, lease_until = NULL, changed_at = ?3
WHERE stream = ?1;

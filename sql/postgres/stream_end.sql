-- by stream_pkey: a person ends a workflow.
UPDATE cf.stream SET status = 'failed', head = $2::bigint, reason = NULL, input = NULL,
  lease_owner = NULL, lease_until = NULL, changed_at = $3::bigint
WHERE stream = $1::text;

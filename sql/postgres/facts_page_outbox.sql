-- by outbox_pkey.
SELECT n, command_id, stream, seq, idx, destination, kind, ordering_key, body, content_type,
  headers, core_digest, not_before, expires_at, recorded_at, erased_at IS NOT NULL,
  erased_at
FROM cf.outbox WHERE n BETWEEN $1::bigint AND $2::bigint ORDER BY n;

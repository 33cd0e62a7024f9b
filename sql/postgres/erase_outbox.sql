-- by outbox_pkey: behind its receipts.
SELECT n, command_id, stream, seq, idx, destination, kind, ordering_key, body, content_type,
  headers, core_digest, not_before, expires_at, recorded_at, erased_at IS NOT NULL
FROM cf.outbox WHERE n = $1::bigint FOR UPDATE;

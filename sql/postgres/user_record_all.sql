-- by outbox_command_id_key, inside the function: one word a command, in their order.
SELECT cf.record(id, destination, kind, body, ordering_key, content_type, headers, not_before,
  expires_at, core_digest)
FROM unnest($1::text[], $2::text[], $3::text[], $4::bytea[], $5::text[], $6::text[], $7::text[],
  $8::bigint[], $9::bigint[], $10::text[])
  AS command(id, destination, kind, body, ordering_key, content_type, headers, not_before,
    expires_at, core_digest);

-- by outbox_command_id_key, inside the function.
SELECT cf.record($1::text, $2::text, $3::text, $4::bytea, $5::text, $6::text, $7::text, $8::bigint,
  $9::bigint, $10::text);

-- by delivery_pkey: it counts only for the state and token that were read.
UPDATE cf.delivery SET state = $4::text, round = $5::int, round_since = $6::bigint,
  attempts = $7::int, asks = $8::int, in_doubt = $9::int, available_at = $10::bigint,
  turn = CASE WHEN $10::bigint IS NOT NULL THEN turn END, token = $11::bigint,
  lease_until = $12::bigint, lease_owner = $13::text, first_sent_at = $14::bigint,
  last_lease_until = $15::bigint, last_outcome = $16::text,
  digest = coalesce($17::bytea, digest), row_digest = coalesce($18::bytea, row_digest)
WHERE n = $1::bigint AND token = $2::bigint AND state = $3::text RETURNING n;

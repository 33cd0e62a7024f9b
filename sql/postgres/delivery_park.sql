-- by delivery_pkey: whatever its state says, since a state that is none parks too.
UPDATE cf.delivery SET state = $2::text, in_doubt = $3::int, available_at = NULL, turn = NULL,
  lease_until = NULL, lease_owner = NULL, last_outcome = $4::text
WHERE n = $1::bigint;

-- by delivery_pkey: it counts only for the state and token that were read or claimed.
DELETE FROM cf.delivery WHERE n = $1::bigint AND token = $2::bigint AND state = $3::text
RETURNING n;

-- by delivery_lane, then outbox_pkey: the first open ones before a place.
SELECT o.command_id, d.state FROM cf.delivery d JOIN cf.outbox o ON o.n = d.n
WHERE d.destination = $1::text AND d.ordering_key = $2::text AND d.ordering_key IS NOT NULL
  AND d.key_seq < $3::bigint
ORDER BY d.key_seq LIMIT $4::bigint;

-- by delivery_lane: how many are open before a place, and how many wait behind it.
SELECT
  (SELECT count(*) FROM cf.delivery d WHERE d.destination = $1::text
    AND d.ordering_key = $2::text AND d.ordering_key IS NOT NULL AND d.key_seq < $3::bigint),
  (SELECT count(*) FROM cf.delivery d WHERE d.destination = $1::text
    AND d.ordering_key = $2::text AND d.ordering_key IS NOT NULL AND d.key_seq > $3::bigint
    AND d.state = 'pending');

-- by outbox_lane, delivery_pkey and receipt_pkey: the places that the commands of a lane hold.
SELECT o.n, coalesce(d.key_seq, (SELECT r.key_seq FROM cf.receipt r WHERE r.n = o.n
  ORDER BY r.round DESC LIMIT 1)) AS place
FROM cf.outbox o LEFT JOIN cf.delivery d ON d.n = o.n
WHERE o.ordering_key IS NOT NULL AND o.destination = $1::text AND o.ordering_key = $2::text
ORDER BY o.n;

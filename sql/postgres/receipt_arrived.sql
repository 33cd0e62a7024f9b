-- by receipt_arrival, between two times: what arrived after a receipt, in the order of arrival.
SELECT recorded_at, n, round FROM cf.receipt
WHERE recorded_at >= $1::bigint AND recorded_at < $4::bigint
  AND (recorded_at, n, round) > ($1::bigint, $2::bigint, $3::int)
ORDER BY recorded_at, n, round LIMIT $5::bigint;

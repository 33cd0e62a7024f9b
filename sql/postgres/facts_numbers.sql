-- by outbox_pkey, delivery_pkey, receipt_pkey and attempt_n, each from the cursor on and no further
-- than the page needs.
SELECT n FROM (
  (SELECT n FROM cf.outbox WHERE n >= $1::bigint ORDER BY n LIMIT $2::bigint)
  UNION (SELECT n FROM cf.delivery WHERE n >= $1::bigint ORDER BY n LIMIT $2::bigint)
  UNION (SELECT DISTINCT n FROM cf.receipt WHERE n >= $1::bigint ORDER BY n LIMIT $2::bigint)
  UNION (SELECT DISTINCT n FROM cf.attempt WHERE n >= $1::bigint ORDER BY n LIMIT $2::bigint)
) pages ORDER BY n LIMIT $2::bigint;

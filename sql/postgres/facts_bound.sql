-- by outbox_pkey, delivery_pkey, receipt_pkey and attempt_n: the first number behind a page that
-- begins at $1, whichever table fills it first; NULL where none of them does.
SELECT least(
  (SELECT n FROM cf.outbox WHERE n >= $1::bigint ORDER BY n OFFSET $2::bigint LIMIT 1),
  (SELECT n FROM cf.delivery WHERE n >= $1::bigint ORDER BY n OFFSET $2::bigint LIMIT 1),
  (SELECT DISTINCT n FROM cf.receipt WHERE n >= $1::bigint ORDER BY n OFFSET $2::bigint LIMIT 1),
  (SELECT DISTINCT n FROM cf.attempt WHERE n >= $1::bigint ORDER BY n OFFSET $2::bigint LIMIT 1));

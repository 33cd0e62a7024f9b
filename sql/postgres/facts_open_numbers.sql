-- by delivery_pkey from the cursor on.
SELECT n FROM cf.delivery WHERE n >= $1::bigint ORDER BY n LIMIT $2::bigint;

-- by receipt_pkey: what nobody else holds stays as it is until the transaction ends; whoever would
-- send one again, or say otherwise of it, takes its newest receipt first.
SELECT n, round FROM cf.receipt WHERE n = ANY($1::bigint[]) ORDER BY n, round
FOR UPDATE SKIP LOCKED;

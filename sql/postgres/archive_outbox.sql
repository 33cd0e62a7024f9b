-- by outbox_pkey: behind the receipts, what nobody else holds.
SELECT n FROM cf.outbox WHERE n = ANY($1::bigint[]) ORDER BY n FOR UPDATE SKIP LOCKED;

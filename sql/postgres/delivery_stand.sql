-- by delivery_pkey: which of them are open at all, whoever holds them.
SELECT n FROM cf.delivery WHERE n = ANY($1::bigint[]);

-- by receipt_pkey: whoever reads them here holds them until the end of the transaction.
SELECT round, outcome FROM cf.receipt WHERE n = $1::bigint ORDER BY round FOR UPDATE;

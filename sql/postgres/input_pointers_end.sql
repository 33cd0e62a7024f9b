-- by input_pkey: what points to receipts of a stream that is no workflow.
DELETE FROM cf.input
WHERE stream = $1::text AND id >= 'receipt:' AND id < 'receipt;' AND kind = 'receipt';

-- by sqlite_autoindex_counterfoil_input_1: what points to receipts of a stream that is no workflow.
DELETE FROM counterfoil_input
WHERE stream = ?1 AND id >= 'receipt:' AND id < 'receipt;' AND kind = 'receipt';

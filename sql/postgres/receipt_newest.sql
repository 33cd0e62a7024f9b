-- by receipt_pkey: whoever reads it here says by itself what becomes of the ended command.
SELECT n, round, outcome, result, evidence, source, attempts, token, first_sent_at, recorded_at,
  key_seq, destination, digest, row_digest
FROM cf.receipt WHERE n = $1::bigint ORDER BY round DESC LIMIT 1 FOR UPDATE;

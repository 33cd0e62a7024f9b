-- by outbox_pkey, receipt_pkey and attempt_n: content goes, digests stand in the newest receipt.
WITH ended AS (
  UPDATE cf.receipt r SET result = NULL, evidence = NULL,
    digest = CASE WHEN r.round = $2::int THEN coalesce(r.digest, $3::bytea) ELSE r.digest END,
    row_digest = CASE WHEN r.round = $2::int THEN coalesce(r.row_digest, $4::bytea)
      ELSE r.row_digest END
  WHERE r.n = $1::bigint
),
tried AS (UPDATE cf.attempt a SET reason = NULL WHERE a.n = $1::bigint AND a.reason IS NOT NULL)
UPDATE cf.outbox o SET body = '', headers = NULL, erased_at = $5::bigint WHERE o.n = $1::bigint;

-- by sqlite_autoindex_counterfoil_receipt_1: digests that stand are not written over.
UPDATE counterfoil_receipt SET digest = coalesce(digest, ?3), row_digest = coalesce(row_digest, ?4)
WHERE n = ?1 AND round = ?2;

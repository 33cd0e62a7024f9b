-- by rowid from the cursor on; a mark is no receipt.
SELECT rowid, n, round FROM counterfoil_receipt WHERE rowid > ?1
  AND (n, round) <> (0, 0) ORDER BY rowid LIMIT ?2;

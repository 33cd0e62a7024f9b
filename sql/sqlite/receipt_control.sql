-- by rowid, a range of the newest receipts, newest first: they are appended, so until an archive
-- takes some their numbers have no holes. What stands before the body is looked at first.
SELECT o.command_id, r.source
FROM counterfoil_receipt r CROSS JOIN counterfoil_outbox o ON o.n = r.n
WHERE r.rowid > (SELECT max(rowid) FROM counterfoil_receipt) - ?3
  AND r.outcome = 'completed' AND o.destination = ?1 AND o.command_id <> ?2
ORDER BY r.rowid DESC;

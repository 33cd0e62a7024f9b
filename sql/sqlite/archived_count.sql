-- by scan of counterfoil_archived: the audit counts every row.
SELECT count(*) FROM counterfoil_archived;

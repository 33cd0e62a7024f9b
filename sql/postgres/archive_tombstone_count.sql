-- by scan of archived: the audit counts every row.
SELECT count(*) FROM cf.archived;

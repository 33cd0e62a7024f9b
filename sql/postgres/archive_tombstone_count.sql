-- by scan of archived or of archived_pkey, whichever is less: the audit counts every row.
SELECT count(*) FROM cf.archived;

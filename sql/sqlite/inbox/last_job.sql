-- The number of the newest job, by the rowid.
SELECT coalesce(max(n), 0) FROM jobs

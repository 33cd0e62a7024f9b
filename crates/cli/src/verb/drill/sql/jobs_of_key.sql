-- How many effects one key has: a scan of a table that is small at that moment.
SELECT count(*) FROM jobs WHERE key = ?1;

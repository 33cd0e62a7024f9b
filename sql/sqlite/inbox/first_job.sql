-- The result of the first job of a key, by jobs_key.
SELECT result FROM jobs WHERE key = ?1 AND source = ?2 ORDER BY n LIMIT 1

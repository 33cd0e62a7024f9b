-- by jobs_key: the result of the first job of a key.
SELECT result FROM cf.jobs WHERE key = $1::text AND source = $2::text ORDER BY n LIMIT 1;

-- How many effects each key has, in order: one pass over jobs_key, once at the end of a drill.
SELECT key, count(*) FROM jobs GROUP BY key ORDER BY key;

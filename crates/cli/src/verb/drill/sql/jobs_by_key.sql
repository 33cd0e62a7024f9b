-- How many effects each key has: one scan, once at the end of a drill.
SELECT key, count(*) FROM jobs GROUP BY key;

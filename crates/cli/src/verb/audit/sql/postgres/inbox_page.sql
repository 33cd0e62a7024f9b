-- The keys of one source after another key, in order; served by the primary key.
SELECT key, outcome, received_at FROM cf.inbox
WHERE source = $1 AND key > $2 ORDER BY key LIMIT $3;

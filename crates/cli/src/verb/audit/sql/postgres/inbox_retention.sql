-- How many keys one source has, how many of them are kept for ever, and the shortest retention in
-- microseconds; one pass over that source's part of the primary key.
SELECT count(*), count(*) - count(expires_at), min(expires_at - received_at)
FROM cf.inbox WHERE source = $1;

-- by nothing: tells those that listen, at COMMIT, and who tells it.
SELECT pg_notify($1::text, $2::text);

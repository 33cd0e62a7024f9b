-- by nothing: tells those that listen, at COMMIT; once, however often it is asked for.
SELECT pg_notify($1::text, '');

-- by none: writes an effect; its number is drawn, so that several receivers may share a book.
INSERT INTO cf.jobs(n, source, key, kind, body, result)
SELECT n, $1::text, $2::text, $3::text, $4::bytea, '{"job":' || n || '}'
FROM nextval('cf.jobs_n') AS drawn(n) RETURNING result;

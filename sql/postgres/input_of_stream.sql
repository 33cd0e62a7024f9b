-- by input_pkey from the cursor on.
SELECT stream, id, kind, name, due_at, recorded_at, workflow IS NOT NULL FROM cf.input
WHERE stream = $1::text AND id > $2::text ORDER BY id LIMIT $3::bigint;

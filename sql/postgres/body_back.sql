-- by event_pkey: bodies come back into their rows.
UPDATE cf.event e SET body = g.body, file = NULL, digest = NULL
FROM unnest($2::bigint[], $3::bytea[]) AS g(seq, body)
WHERE e.stream = $1::text AND e.seq = g.seq AND e.digest = sha256(g.body)
RETURNING e.seq;

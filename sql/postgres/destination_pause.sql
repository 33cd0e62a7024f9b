-- by destination_pkey: a pause that stands is not made again.
INSERT INTO cf.destination AS d (name, paused_at, paused_by, paused_why)
VALUES ($1::text, $2::bigint, $3::text, $4::text)
ON CONFLICT(name) DO UPDATE SET paused_at = excluded.paused_at, paused_by = excluded.paused_by,
  paused_why = excluded.paused_why
WHERE d.paused_at IS NULL RETURNING name;

-- by destination_pkey: a row a destination.
SELECT name, contract IS NOT NULL, paused_at IS NOT NULL, paused_why, paused_at, paused_by
FROM cf.destination ORDER BY name;

-- by destination_pkey: only what is paused goes on.
UPDATE cf.destination SET paused_at = NULL, paused_by = NULL, paused_why = NULL
WHERE name = $1::text AND paused_at IS NOT NULL RETURNING name;

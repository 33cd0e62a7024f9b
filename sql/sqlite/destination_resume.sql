-- by the primary key of counterfoil_destination: only what is paused goes on.
UPDATE counterfoil_destination SET paused_at = NULL, paused_by = NULL, paused_why = NULL
WHERE name = ?1 AND paused_at IS NOT NULL;

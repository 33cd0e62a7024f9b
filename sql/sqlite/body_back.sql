-- by the primary key of counterfoil_event: a body comes back into its row.
UPDATE counterfoil_event SET body = ?3, file = NULL, digest = NULL
WHERE stream = ?1 AND seq = ?2 AND file IS NOT NULL AND digest = ?4;

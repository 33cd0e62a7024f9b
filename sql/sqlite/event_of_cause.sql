-- by counterfoil_event_cause, then by the primary key: an input as it was decided.
SELECT kind, body, file IS NOT NULL, digest FROM counterfoil_event
WHERE stream = ?1 AND cause = ?2 AND cause IS NOT NULL;

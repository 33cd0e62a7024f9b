-- by counterfoil_event_cause.
SELECT 1 FROM counterfoil_event WHERE stream = ?1 AND cause = ?2 AND cause IS NOT NULL;

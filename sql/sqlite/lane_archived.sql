-- by scan of counterfoil_archived, for a lane with missing places only: whether one was archived.
SELECT 1 FROM counterfoil_archived WHERE destination = ?1 AND ordering_key = ?2 LIMIT 1;

-- by counterfoil_archived_lane, for a lane with missing places only: whether one was archived.
SELECT 1 FROM counterfoil_archived
WHERE destination = ?1 AND ordering_key = ?2 AND ordering_key IS NOT NULL LIMIT 1;

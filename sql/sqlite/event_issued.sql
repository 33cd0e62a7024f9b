-- by the primary key of counterfoil_event: an event that issued a command of this index.
SELECT 1 FROM counterfoil_event WHERE stream = ?1 AND seq = ?2 AND commands > ?3;

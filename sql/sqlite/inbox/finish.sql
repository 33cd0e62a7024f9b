-- Stores an outcome once, by the primary key (source, key).
UPDATE counterfoil_inbox SET outcome = ?3, result = ?4
WHERE source = ?1 AND key = ?2 AND outcome IS NULL

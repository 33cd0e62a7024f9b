-- Removes a key whose retention is over, by the primary key (source, key).
DELETE FROM counterfoil_inbox WHERE source = ?1 AND key = ?2 AND expires_at <= ?3

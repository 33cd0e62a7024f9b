-- Takes a key unless it stands; the primary key (source, key) decides.
INSERT INTO counterfoil_inbox(source, key, digest, expires_at) VALUES (?1, ?2, ?3, ?4)
ON CONFLICT(source, key) DO NOTHING

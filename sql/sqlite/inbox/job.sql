-- Writes an effect; appends by the rowid.
INSERT INTO jobs(n, source, key, kind, body, result) VALUES (?1, ?2, ?3, ?4, ?5, ?6)

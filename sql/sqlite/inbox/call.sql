-- Writes a request that was taken on; appends by the rowid.
INSERT INTO calls(key, attempt, token, outcome) VALUES (?1, ?2, ?3, ?4)

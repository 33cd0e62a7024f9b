-- What stands about a key, by the primary key (source, key).
SELECT digest, outcome, result, received_at, expires_at
FROM counterfoil_inbox WHERE source = ?1 AND key = ?2

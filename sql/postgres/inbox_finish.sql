-- by inbox_pkey: stores an outcome once.
UPDATE cf.inbox SET outcome = $3::text, result = $4::bytea
WHERE source = $1::text AND key = $2::text AND outcome IS NULL RETURNING true;

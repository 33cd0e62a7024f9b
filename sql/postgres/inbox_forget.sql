-- by inbox_pkey: removes a key whose retention is over.
DELETE FROM cf.inbox WHERE source = $1::text AND key = $2::text AND expires_at <= cf.micros()
RETURNING true;

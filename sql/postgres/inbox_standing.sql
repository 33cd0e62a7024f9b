-- by inbox_pkey: what stands about a key, and whether its retention is over.
SELECT digest, outcome, result, received_at, coalesce(expires_at <= cf.micros(), false)
FROM cf.inbox WHERE source = $1::text AND key = $2::text;

-- by inbox_pkey: takes a key unless it stands; a twin in flight is waited for.
INSERT INTO cf.inbox(source, key, digest, expires_at)
VALUES ($1::text, $2::text, $3::bytea,
  least(coalesce($4::bigint, cf.micros() + $5::bigint), 9999999999999999))
ON CONFLICT (source, key) DO NOTHING RETURNING true;

-- by inbox_expiry and inbox_pkey: removes some keys whose retention is over, oldest first.
WITH over AS MATERIALIZED (
  SELECT source, key FROM cf.inbox WHERE expires_at <= (SELECT cf.micros())
  ORDER BY expires_at LIMIT $1::bigint FOR UPDATE SKIP LOCKED)
DELETE FROM cf.inbox i USING over WHERE i.source = over.source AND i.key = over.key
RETURNING true;

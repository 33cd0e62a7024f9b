-- by stream_pkey: who holds these workflows lets go of them, but for what another transaction is at
-- work on.
UPDATE cf.stream s SET lease_owner = NULL, lease_until = NULL
WHERE s.ctid = ANY(ARRAY(SELECT h.ctid FROM cf.stream h
  WHERE h.stream = ANY($1::text[]) AND h.lease_owner = $2::text FOR UPDATE OF h SKIP LOCKED))
  AND s.lease_owner = $2::text;

-- by stream_pkey and snapshot_pkey.
SELECT s.workflow, s.version, s.status, s.head, p.seq, p.state
FROM (SELECT 1) one LEFT JOIN cf.stream s ON s.stream = $1::text
LEFT JOIN cf.snapshot p ON p.stream = $1::text AND p.name = $2::text AND p.version = $3::bigint;

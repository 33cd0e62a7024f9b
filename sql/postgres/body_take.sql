-- by event_pkey, stream_pkey and snapshot_pkey: bodies leave their rows, where these stand as they
-- were read and their workflows cannot need them.
UPDATE cf.event e SET body = '', file = $9::text, digest = g.digest
FROM unnest($1::text[], $2::bigint[], $3::text[], $4::text[], $5::int[], $6::bigint[], $7::text[],
  $8::bytea[]) AS g(stream, seq, kind, cause, commands, recorded_at, decided, digest)
WHERE e.stream = g.stream AND e.seq = g.seq AND e.file IS NULL AND e.digest IS NULL
  AND e.kind = g.kind AND e.cause IS NOT DISTINCT FROM g.cause AND e.commands = g.commands
  AND e.recorded_at = g.recorded_at AND e.decided IS NOT DISTINCT FROM g.decided
  AND sha256(e.body) = g.digest
  AND (SELECT s.status = 'completed' OR s.status = 'failed' OR s.status = 'running' AND g.seq <= (
      SELECT p.seq FROM cf.snapshot p WHERE p.stream = s.stream
        AND p.name = s.workflow COLLATE "C" AND p.version = s.version)
    FROM cf.stream s WHERE s.stream = g.stream AND s.workflow IS NOT NULL)
RETURNING e.stream, e.seq;

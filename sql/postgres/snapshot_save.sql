-- by snapshot_pkey: a newer one takes the place of an older one.
INSERT INTO cf.snapshot(stream, name, version, seq, state, recorded_at)
SELECT g.stream, g.name, g.version, g.seq, g.state, (SELECT cf.micros())
FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[], $5::bytea[])
  AS g(stream, name, version, seq, state)
ORDER BY g.stream, g.name, g.version
ON CONFLICT (stream, name, version) DO UPDATE SET seq = excluded.seq, state = excluded.state,
  recorded_at = excluded.recorded_at
WHERE excluded.seq > snapshot.seq;

-- by the unique index of stream, name and version: a newer one takes the place of an older one.
INSERT INTO counterfoil_snapshot(stream, name, version, seq, state, recorded_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6)
ON CONFLICT(stream, name, version) DO UPDATE SET seq = excluded.seq, state = excluded.state,
  recorded_at = excluded.recorded_at
WHERE excluded.seq > counterfoil_snapshot.seq;

-- by the primary key of counterfoil_archived: one that stands is not written over.
INSERT INTO counterfoil_archived(command_id, destination, kind, ordering_key, digest, outcome,
  rounds, file, row_digest)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
ON CONFLICT(command_id) DO NOTHING;

-- The books: what an archived row says of itself, and the seal of the newest audit that held.

-- SHA-256 over the other columns of a tombstone, so that a change of any of them is seen.
ALTER TABLE counterfoil_archived ADD COLUMN row_digest BLOB;
-- For the audit, which asks of a lane with missing places whether one of it was archived: written by
-- the archive only.
CREATE INDEX counterfoil_archived_lane
  ON counterfoil_archived(destination, ordering_key) WHERE ordering_key IS NOT NULL;

-- Written by audit, archive and erase only. The version rises with each write, so that two of them
-- never write over each other.
CREATE TABLE counterfoil_seal(
  k           INTEGER PRIMARY KEY,      -- always 1
  version     INTEGER NOT NULL,
  seal        TEXT    NOT NULL,         -- JSON: how far the audit came, and the sums of what it read
  recorded_at INTEGER NOT NULL
) STRICT;

CREATE TRIGGER counterfoil_seal_no_insert BEFORE INSERT ON counterfoil_seal
BEGIN SELECT RAISE(ABORT, 'CF0132 seals are Counterfoil''s own: run counterfoil audit'); END;
CREATE TRIGGER counterfoil_seal_no_update BEFORE UPDATE ON counterfoil_seal
BEGIN SELECT RAISE(ABORT, 'CF0132 seals are Counterfoil''s own: run counterfoil audit'); END;
CREATE TRIGGER counterfoil_seal_no_delete BEFORE DELETE ON counterfoil_seal
BEGIN SELECT RAISE(ABORT, 'CF0132 seals are Counterfoil''s own: run counterfoil audit'); END;

DROP TRIGGER counterfoil_meta_no_update;
UPDATE counterfoil_meta SET version = 9;
CREATE TRIGGER counterfoil_meta_no_update BEFORE UPDATE ON counterfoil_meta
BEGIN SELECT RAISE(ABORT, 'CF0131 the meta row is Counterfoil''s own: use counterfoil init'); END;

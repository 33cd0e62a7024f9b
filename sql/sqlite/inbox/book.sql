-- The reference receiver's own tables: its effects, and every request it took on.
-- `key` is not unique in jobs on purpose: only the inbox keeps a repeat out, so a second effect
-- would show here.
CREATE TABLE IF NOT EXISTS jobs(
  n           INTEGER PRIMARY KEY,
  source      TEXT    NOT NULL,
  key         TEXT    NOT NULL,
  kind        TEXT,
  body        BLOB    NOT NULL,
  received_at INTEGER NOT NULL
    DEFAULT (CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER)),
  result      TEXT    NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS calls(
  n       INTEGER PRIMARY KEY,
  key     TEXT    NOT NULL,
  attempt INTEGER,
  token   INTEGER,
  outcome TEXT    NOT NULL,
  at      INTEGER NOT NULL
    DEFAULT (CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER))
) STRICT;

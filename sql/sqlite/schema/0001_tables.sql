-- The tables of Counterfoil on SQLite: design, "The tables are an interface".
--
-- Names and columns are public and versioned. Times are integer microseconds UTC, digests are
-- 32 bytes, `n` joins what belongs to one command and is never reused. NOT NULL and STRICT stand
-- behind the guards of the later files, not instead of them: OR IGNORE skips NOT NULL in silence.
-- Nothing here or in the later files is newer than SQLite 3.37, since one newer construct would
-- make the user's whole file unreadable for an older library.

CREATE TABLE counterfoil_meta(
  k       INTEGER PRIMARY KEY,            -- always 1
  version INTEGER NOT NULL,               -- the number of the newest schema file applied
  source  TEXT    NOT NULL,               -- names this store to receivers: a URI reference
  store   TEXT    NOT NULL,               -- random id of this store
  clock   INTEGER NOT NULL                -- the store clock, as last saved
) STRICT;

CREATE TABLE counterfoil_outbox(
  n            INTEGER PRIMARY KEY,
  command_id   TEXT    NOT NULL UNIQUE,   -- the only text index of the hot path
  stream       TEXT,                      -- stream, seq, idx: NULL in a bare command
  seq          INTEGER,
  idx          INTEGER,
  destination  TEXT    NOT NULL,
  kind         TEXT    NOT NULL,
  ordering_key TEXT,
  body         ANY     NOT NULL,          -- text or blob, kept as it came
  content_type TEXT    NOT NULL DEFAULT 'application/json',
  headers      TEXT,                      -- a JSON object of strings
  core_digest  TEXT,                      -- SHA-256 of the core fields, 64 lower-case hex digits
  not_before   INTEGER,
  expires_at   INTEGER,
  recorded_at  INTEGER NOT NULL
    DEFAULT (CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER)),
  erased_at    INTEGER                    -- when `erase` cleared body and headers
) STRICT;

CREATE TABLE counterfoil_delivery(
  n                INTEGER PRIMARY KEY,
  destination      TEXT    NOT NULL,
  state            TEXT    NOT NULL,
  round            INTEGER NOT NULL DEFAULT 1,
  round_since      INTEGER,
  attempts         INTEGER NOT NULL DEFAULT 0,
  asks             INTEGER NOT NULL DEFAULT 0,
  in_doubt         INTEGER NOT NULL DEFAULT 0,
  available_at     INTEGER,
  ordering_key     TEXT,
  key_seq          INTEGER,
  token            INTEGER NOT NULL DEFAULT 0,
  lease_until      INTEGER,
  lease_owner      TEXT,
  first_sent_at    INTEGER,
  last_lease_until INTEGER,
  digest           BLOB,
  row_digest       BLOB,
  last_outcome     TEXT
) STRICT;
-- Claims, takeovers and time-outs. The destination stands first, else a paused one with a
-- million due rows would be walked by each claim; `n` is the tail of the index by itself.
CREATE INDEX counterfoil_delivery_due
  ON counterfoil_delivery(destination, available_at) WHERE available_at IS NOT NULL;
-- One place in a lane belongs to one command.
CREATE UNIQUE INDEX counterfoil_delivery_lane
  ON counterfoil_delivery(destination, ordering_key, key_seq) WHERE ordering_key IS NOT NULL;

-- A rowid table: rows come in almost any order of n, and a rowid table appends them.
CREATE TABLE counterfoil_receipt(
  n             INTEGER NOT NULL,
  round         INTEGER NOT NULL,
  outcome       TEXT    NOT NULL,   -- completed, accepted, rejected, cancelled, expired
  result        ANY,                -- NULL also after `erase`, like the evidence
  evidence      TEXT,
  source        TEXT    NOT NULL,   -- who brought it: 'report' for the view counterfoil_report
  destination   TEXT    NOT NULL,
  attempts      INTEGER NOT NULL,
  token         INTEGER NOT NULL,
  first_sent_at INTEGER,
  key_seq       INTEGER,
  digest        BLOB,               -- NULL when the command ended before its first claim
  row_digest    BLOB,
  recorded_at   INTEGER NOT NULL,
  UNIQUE(n, round)
) STRICT;

CREATE TABLE counterfoil_contradiction(
  command_id  TEXT    NOT NULL,
  round       INTEGER NOT NULL,
  outcome     TEXT    NOT NULL,
  result      ANY,
  evidence    TEXT,
  source      TEXT    NOT NULL,
  recorded_at INTEGER NOT NULL
) STRICT;
CREATE INDEX counterfoil_contradiction_command ON counterfoil_contradiction(command_id);

CREATE TABLE counterfoil_attempt(
  n          INTEGER NOT NULL,
  round      INTEGER NOT NULL,
  token      INTEGER NOT NULL,      -- not unique: a late settle adds a second row
  purpose    TEXT    NOT NULL,      -- send or ask
  outcome    TEXT    NOT NULL,
  reason     TEXT,
  started_at INTEGER,
  ended_at   INTEGER NOT NULL
) STRICT;
CREATE INDEX counterfoil_attempt_n ON counterfoil_attempt(n);

-- WITHOUT ROWID, so that an event between a pass and its commands does not spend the pass.
CREATE TABLE counterfoil_event(
  stream      TEXT    NOT NULL,
  seq         INTEGER NOT NULL,
  kind        TEXT    NOT NULL,
  body        ANY     NOT NULL,
  cause       TEXT,
  commands    INTEGER NOT NULL,     -- how many commands it issued
  recorded_at INTEGER NOT NULL,
  PRIMARY KEY(stream, seq)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX counterfoil_event_cause
  ON counterfoil_event(stream, cause) WHERE cause IS NOT NULL;

-- Written by workflows and by archive only; else the head is max(seq) of the events.
CREATE TABLE counterfoil_stream(
  stream   TEXT    NOT NULL PRIMARY KEY,
  workflow TEXT,
  version  INTEGER,
  status   TEXT,
  head     INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE counterfoil_snapshot(
  stream      TEXT    NOT NULL,
  name        TEXT    NOT NULL,
  version     INTEGER NOT NULL,
  seq         INTEGER NOT NULL,
  state       ANY     NOT NULL,
  recorded_at INTEGER NOT NULL,
  PRIMARY KEY(stream, name, version)
) STRICT;

-- A rowid table: the rowid is the order of arrival.
CREATE TABLE counterfoil_input(
  stream TEXT NOT NULL,
  id     TEXT NOT NULL,
  kind   TEXT NOT NULL,             -- start, signal, cancel; receipt and timer are our own
  name   TEXT NOT NULL,
  body   ANY,
  due_at INTEGER,                   -- NULL: due at once
  PRIMARY KEY(stream, id)
) STRICT;

CREATE TABLE counterfoil_inbox(
  source      TEXT    NOT NULL,
  key         TEXT    NOT NULL,
  digest      ANY     NOT NULL,     -- text or blob, compared as the receiver wrote it
  outcome     TEXT,                 -- completed or rejected, once the effect is there
  result      ANY,
  received_at INTEGER NOT NULL
    DEFAULT (CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER)),
  expires_at  INTEGER,              -- NULL: kept for ever
  PRIMARY KEY(source, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX counterfoil_inbox_expiry
  ON counterfoil_inbox(expires_at) WHERE expires_at IS NOT NULL;

CREATE TABLE counterfoil_lane(
  destination  TEXT    NOT NULL,
  ordering_key TEXT    NOT NULL,
  last         INTEGER NOT NULL,
  PRIMARY KEY(destination, ordering_key)
) STRICT, WITHOUT ROWID;

CREATE TABLE counterfoil_destination(
  name       TEXT NOT NULL PRIMARY KEY,
  contract   TEXT,                  -- JSON, stored by the relay
  paused_at  INTEGER,
  paused_by  TEXT,
  paused_why TEXT
) STRICT, WITHOUT ROWID;

CREATE TABLE counterfoil_tally(
  destination TEXT    NOT NULL,
  outcome     TEXT    NOT NULL,
  count       INTEGER NOT NULL,
  PRIMARY KEY(destination, outcome)
) STRICT, WITHOUT ROWID;

-- The tombstone of an archived command, never removed.
CREATE TABLE counterfoil_archived(
  command_id   TEXT    NOT NULL PRIMARY KEY,
  destination  TEXT    NOT NULL,
  kind         TEXT    NOT NULL,
  ordering_key TEXT,
  digest       BLOB    NOT NULL,
  outcome      TEXT    NOT NULL,
  rounds       INTEGER NOT NULL,
  file         TEXT    NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE counterfoil_operator_action(
  id          INTEGER PRIMARY KEY,
  verb        TEXT    NOT NULL,
  about       TEXT    NOT NULL,     -- a command id or a destination
  actor       TEXT    NOT NULL,
  reason      TEXT,
  before      TEXT,
  after       TEXT,
  recorded_at INTEGER NOT NULL
) STRICT;
CREATE INDEX counterfoil_operator_action_about ON counterfoil_operator_action(about);

-- The one row of meta. The id is a UUID of version 4; each piece is random by itself.
INSERT INTO counterfoil_meta(k, version, source, store, clock)
SELECT 1, 1, 'urn:uuid:' || id, id, 0 FROM (
  SELECT lower(hex(randomblob(4)) || '-' || hex(randomblob(2)) || '-4'
    || substr(hex(randomblob(2)), 2) || '-' || substr('89ab', 1 + (random() & 3), 1)
    || substr(hex(randomblob(2)), 2) || '-' || hex(randomblob(6))) AS id
  LIMIT 1);

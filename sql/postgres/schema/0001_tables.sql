-- The tables of Counterfoil on PostgreSQL: design, "The tables are an interface".
--
-- `cf` stands for the schema, whose name is configurable; the library writes it in. Names and
-- columns are those of SQLite. Times are integer microseconds UTC, digests are 32 bytes, `n` joins
-- what belongs to one command and is never reused. Wide columns stand first, so that a row has no
-- holes. Text that is compared or ordered is COLLATE "C": by its bytes, as on SQLite.
-- Nothing is partitioned: a partitioned key does not make an id unique.

-- The server's time in microseconds; each call tells it anew.
CREATE FUNCTION cf.micros() RETURNS bigint LANGUAGE sql VOLATILE PARALLEL SAFE AS
$$ SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint $$;

CREATE TABLE cf.meta(
  k       int    PRIMARY KEY CHECK (k = 1),
  version int    NOT NULL,               -- the number of the newest schema file applied
  clock   bigint NOT NULL DEFAULT 0,     -- not used here: the server has the time
  source  text   NOT NULL,               -- names this store to receivers: a URI reference
  store   text   NOT NULL                -- random id of this store
);

CREATE TABLE cf.outbox(
  n            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  seq          bigint,                   -- stream, seq, idx: NULL in a bare command
  not_before   bigint,
  expires_at   bigint,
  recorded_at  bigint NOT NULL DEFAULT cf.micros(),
  erased_at    bigint,                   -- when `erase` cleared body and headers
  idx          int,
  command_id   text COLLATE "C" NOT NULL UNIQUE,  -- the only text index of the hot path
  stream       text COLLATE "C",
  destination  text COLLATE "C" NOT NULL,
  kind         text COLLATE "C" NOT NULL,
  ordering_key text COLLATE "C",
  content_type text NOT NULL DEFAULT 'application/json',
  headers      text,                     -- a JSON object of strings
  core_digest  text,                     -- SHA-256 of the core fields, 64 lower-case hex digits
  body         bytea NOT NULL
);
-- For the audit: it is written for commands with an ordering key only.
CREATE INDEX outbox_lane ON cf.outbox(destination, ordering_key) WHERE ordering_key IS NOT NULL;

-- Small and busy: each command updates its row once and deletes it once, so the table is vacuumed
-- by a count of dead rows, not by its share of a size that is nearly none.
CREATE TABLE cf.delivery(
  n                bigint NOT NULL PRIMARY KEY,
  available_at     bigint,
  token            bigint NOT NULL DEFAULT 0,
  lease_until      bigint,
  first_sent_at    bigint,
  last_lease_until bigint,
  round_since      bigint,
  key_seq          bigint,
  expires_at       bigint,
  round            int    NOT NULL DEFAULT 1,
  attempts         int    NOT NULL DEFAULT 0,
  asks             int    NOT NULL DEFAULT 0,
  in_doubt         int    NOT NULL DEFAULT 0,
  turn             int,                  -- 1 while it has the turn of its lane, else NULL
  state            text COLLATE "C" NOT NULL,
  destination      text COLLATE "C" NOT NULL,
  ordering_key     text COLLATE "C",
  lease_owner      text,
  digest           bytea,
  row_digest       bytea,
  last_outcome     text
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.0, autovacuum_vacuum_threshold = 5000,
  autovacuum_vacuum_insert_scale_factor = 0.0, autovacuum_vacuum_insert_threshold = 50000,
  autovacuum_analyze_scale_factor = 0.0, autovacuum_analyze_threshold = 50000,
  autovacuum_vacuum_cost_delay = 0);
-- Claims, takeovers and time-outs. The destination stands first, else a paused one with a million
-- due rows would be walked by each claim.
CREATE INDEX delivery_due ON cf.delivery(destination, available_at, n)
  WHERE available_at IS NOT NULL;
-- One place in a lane belongs to one command.
CREATE UNIQUE INDEX delivery_lane ON cf.delivery(destination, ordering_key, key_seq)
  WHERE ordering_key IS NOT NULL;
-- One command of a lane is due or in flight, and no more.
CREATE UNIQUE INDEX delivery_turn ON cf.delivery(destination, ordering_key)
  WHERE turn IS NOT NULL;
CREATE INDEX delivery_expiry ON cf.delivery(expires_at) WHERE expires_at IS NOT NULL;

CREATE TABLE cf.receipt(
  n             bigint NOT NULL,
  token         bigint NOT NULL,
  first_sent_at bigint,
  key_seq       bigint,
  recorded_at   bigint NOT NULL,
  round         int    NOT NULL,
  attempts      int    NOT NULL,
  outcome       text COLLATE "C" NOT NULL,   -- completed, accepted, rejected, cancelled, expired
  source        text   NOT NULL,             -- who brought it: 'report' for reports in SQL
  destination   text COLLATE "C" NOT NULL,
  evidence      text,
  digest        bytea,                       -- NULL when it ended before its first claim
  row_digest    bytea,
  result        bytea,                       -- NULL also after `erase`, like the evidence
  PRIMARY KEY(n, round)
);

CREATE TABLE cf.contradiction(
  id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  recorded_at bigint NOT NULL,
  round       int    NOT NULL,
  command_id  text COLLATE "C" NOT NULL,
  outcome     text COLLATE "C" NOT NULL,
  source      text   NOT NULL,
  evidence    text,
  result      bytea
);
CREATE INDEX contradiction_command ON cf.contradiction(command_id);

CREATE TABLE cf.attempt(
  id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,  -- the order of arrival
  n          bigint NOT NULL,
  token      bigint NOT NULL,            -- not unique: a late settle adds a second row
  started_at bigint,
  ended_at   bigint NOT NULL,
  round      int    NOT NULL,
  purpose    text COLLATE "C" NOT NULL,  -- send or ask
  outcome    text COLLATE "C" NOT NULL,
  reason     text
);
CREATE INDEX attempt_n ON cf.attempt(n);

CREATE TABLE cf.event(
  seq         bigint NOT NULL,
  recorded_at bigint NOT NULL,
  commands    int    NOT NULL,           -- how many commands it issued
  stream      text COLLATE "C" NOT NULL,
  kind        text COLLATE "C" NOT NULL,
  cause       text COLLATE "C",
  body        bytea  NOT NULL,
  PRIMARY KEY(stream, seq)
);
CREATE UNIQUE INDEX event_cause ON cf.event(stream, cause) WHERE cause IS NOT NULL;

-- Written by workflows and by archive only; else the head is max(seq) of the events.
CREATE TABLE cf.stream(
  head     bigint NOT NULL,
  version  bigint,
  stream   text COLLATE "C" NOT NULL PRIMARY KEY,
  workflow text,
  status   text
);

CREATE TABLE cf.snapshot(
  version     bigint NOT NULL,
  seq         bigint NOT NULL,
  recorded_at bigint NOT NULL,
  stream      text COLLATE "C" NOT NULL,
  name        text COLLATE "C" NOT NULL,
  state       bytea  NOT NULL,
  PRIMARY KEY(stream, name, version)
);

CREATE TABLE cf.input(
  arrival bigint GENERATED ALWAYS AS IDENTITY,   -- the order of arrival
  due_at  bigint,                                -- NULL: due at once
  stream  text COLLATE "C" NOT NULL,
  id      text COLLATE "C" NOT NULL,
  kind    text COLLATE "C" NOT NULL,             -- start, signal, cancel; others are our own
  name    text COLLATE "C" NOT NULL,
  body    bytea,
  PRIMARY KEY(stream, id)
);

CREATE TABLE cf.inbox(
  received_at bigint NOT NULL DEFAULT cf.micros(),
  expires_at  bigint,                            -- NULL: kept for ever
  source      text COLLATE "C" NOT NULL,
  key         text COLLATE "C" NOT NULL,
  digest      bytea  NOT NULL,
  outcome     text COLLATE "C",                  -- completed or rejected, once the effect is there
  result      bytea,
  PRIMARY KEY(source, key)
);
CREATE INDEX inbox_expiry ON cf.inbox(expires_at) WHERE expires_at IS NOT NULL;

CREATE TABLE cf.lane(
  last         bigint NOT NULL,
  destination  text COLLATE "C" NOT NULL,
  ordering_key text COLLATE "C" NOT NULL,
  PRIMARY KEY(destination, ordering_key)
) WITH (fillfactor = 70);

-- Lanes whose turn is left to a sweep. Without a key: a note waits for nobody, and two of one lane
-- are looked at once.
CREATE TABLE cf.lane_freed(
  destination  text COLLATE "C" NOT NULL,
  ordering_key text COLLATE "C" NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0.0, autovacuum_vacuum_threshold = 5000);

CREATE TABLE cf.destination(
  paused_at  bigint,
  name       text COLLATE "C" NOT NULL PRIMARY KEY,
  contract   text,                               -- JSON, stored by the relay
  paused_by  text,
  paused_why text
);

-- Deltas: a count is the sum of its rows, and sweeps fold them. So nobody waits for a row that a
-- worker's open transaction has counted in.
CREATE TABLE cf.tally(
  count       bigint NOT NULL,
  destination text COLLATE "C" NOT NULL,
  outcome     text COLLATE "C" NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0.0, autovacuum_vacuum_threshold = 5000);

-- The tombstone of an archived command, never removed.
CREATE TABLE cf.archived(
  rounds       int   NOT NULL,
  command_id   text COLLATE "C" NOT NULL PRIMARY KEY,
  destination  text COLLATE "C" NOT NULL,
  kind         text COLLATE "C" NOT NULL,
  ordering_key text COLLATE "C",
  outcome      text COLLATE "C" NOT NULL,
  file         text  NOT NULL,
  digest       bytea NOT NULL
);

CREATE TABLE cf.operator_action(
  id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  recorded_at bigint NOT NULL,
  verb        text COLLATE "C" NOT NULL,
  about       text COLLATE "C" NOT NULL,         -- a command id or a destination
  actor       text  NOT NULL,
  reason      text,
  before      text,
  after       text
);
CREATE INDEX operator_action_about ON cf.operator_action(about);

INSERT INTO cf.meta(k, version, source, store)
SELECT 1, 1, 'urn:uuid:' || id, id FROM (SELECT gen_random_uuid()::text AS id) made;

-- The reference receiver's own tables: its effects, and every request it took on.
-- `key` is not unique in jobs on purpose: only the inbox keeps a repeat out, so a second effect
-- would show here.
CREATE TABLE IF NOT EXISTS cf.jobs(
  n           bigint PRIMARY KEY,
  received_at bigint NOT NULL DEFAULT cf.micros(),
  source      text COLLATE "C" NOT NULL,
  key         text COLLATE "C" NOT NULL,
  kind        text,
  body        bytea NOT NULL,
  result      text NOT NULL
);
CREATE SEQUENCE IF NOT EXISTS cf.jobs_n;
CREATE INDEX IF NOT EXISTS jobs_key ON cf.jobs(key, source);
CREATE TABLE IF NOT EXISTS cf.calls(
  n       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  attempt bigint,
  token   bigint,
  at      bigint NOT NULL DEFAULT cf.micros(),
  key     text COLLATE "C" NOT NULL,
  outcome text NOT NULL
);

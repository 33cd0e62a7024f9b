-- The books: what an archived row says of itself, the seal of the newest audit that held, and what
-- finds the receipts that arrived since.

-- SHA-256 over the other columns of a tombstone, so that a change of any of them is seen.
ALTER TABLE cf.archived ADD COLUMN row_digest bytea;

-- What waits for a person, found however many wait for a machine.
CREATE INDEX delivery_parked ON cf.delivery(n) WHERE state IN ('dead', 'uncertain', 'conflict');

-- Written by audit, archive and erase only. The version rises with each write, so that two of them
-- never write over each other.
CREATE TABLE cf.seal(
  k           int    PRIMARY KEY CHECK (k = 1),
  version     bigint NOT NULL,
  recorded_at bigint NOT NULL,
  seal        text   NOT NULL            -- JSON: how far the audit came, and sums of what it read
);

-- Receipts are appended in the order of time, so a range of blocks tells a range of times.
CREATE INDEX receipt_arrival ON cf.receipt USING brin(recorded_at);

CREATE TRIGGER seal_no_insert BEFORE INSERT ON cf.seal FOR EACH STATEMENT
WHEN (current_setting('counterfoil.own', true) IS DISTINCT FROM 'on'
  AND (current_setting('row_security') = 'on' OR current_setting('check_function_bodies') = 'on'))
EXECUTE FUNCTION cf.refuse('CF0132 seals are Counterfoil''s own: run counterfoil audit');
CREATE TRIGGER seal_stays BEFORE UPDATE OR DELETE ON cf.seal FOR EACH STATEMENT
WHEN (current_setting('counterfoil.own', true) IS DISTINCT FROM 'on')
EXECUTE FUNCTION cf.refuse('CF0132 seals are Counterfoil''s own: run counterfoil audit');
CREATE TRIGGER seal_no_truncate BEFORE TRUNCATE ON cf.seal FOR EACH STATEMENT
EXECUTE FUNCTION cf.refuse('CF0132 seals are Counterfoil''s own: run counterfoil audit');

UPDATE cf.meta SET version = 8;

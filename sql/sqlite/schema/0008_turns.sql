-- Lanes at their price: who waits and who has the turn stand in one index each, not in both.
--
-- A lane has a number, and whoever has the turn carries it: so the index that lets one command of
-- a lane be in flight holds integers, and a command that is alone in its lane stands in no other.
-- What only a stranger's statement has freed is noted for the next sweep.

-- The n of one of its commands, which no other lane can have; NULL while no command stands.
ALTER TABLE counterfoil_lane ADD COLUMN n INTEGER;
-- Lanes whose turn a stranger's statement left to a sweep; a sweep looks and forgets.
CREATE TABLE counterfoil_lane_freed(
  destination  TEXT NOT NULL,
  ordering_key TEXT NOT NULL,
  PRIMARY KEY(destination, ordering_key)
) STRICT, WITHOUT ROWID;

-- Without their guards for as long as this takes, since a person's own tool has triggers on.
DROP TRIGGER counterfoil_lane_no_update;
DROP TRIGGER counterfoil_delivery_no_update;
DROP INDEX counterfoil_delivery_turn;
DROP INDEX counterfoil_delivery_lane;
UPDATE counterfoil_lane SET n = (SELECT min(o.n) FROM counterfoil_outbox o
  WHERE o.destination = counterfoil_lane.destination
    AND o.ordering_key = counterfoil_lane.ordering_key AND o.ordering_key IS NOT NULL);
UPDATE counterfoil_delivery SET turn = (SELECT l.n FROM counterfoil_lane l
  WHERE l.destination = counterfoil_delivery.destination
    AND l.ordering_key = counterfoil_delivery.ordering_key)
WHERE turn IS NOT NULL;
-- One of a lane is due or in flight, and no more.
CREATE UNIQUE INDEX counterfoil_delivery_turn
  ON counterfoil_delivery(turn) WHERE turn IS NOT NULL;
-- Those that wait or are parked. One place in a lane belongs to one command.
CREATE UNIQUE INDEX counterfoil_delivery_lane
  ON counterfoil_delivery(destination, ordering_key, key_seq)
  WHERE ordering_key IS NOT NULL AND turn IS NULL;
-- As before.
CREATE TRIGGER counterfoil_delivery_no_update BEFORE UPDATE ON counterfoil_delivery
BEGIN
  SELECT RAISE(ABORT, 'CF0120 deliveries are Counterfoil''s own: insert a command into counterfoil_outbox, report through counterfoil_report');
END;

-- As before, but that a lane gets its number.
DROP TRIGGER counterfoil_lane_no_insert;
CREATE TRIGGER counterfoil_lane_no_insert BEFORE INSERT ON counterfoil_lane
WHEN (NEW.last = 0 AND NEW.n = last_insert_rowid()
    AND NOT EXISTS (SELECT 1 FROM counterfoil_lane
      WHERE destination = NEW.destination AND ordering_key = NEW.ordering_key)
    AND EXISTS (SELECT 1 FROM counterfoil_outbox o WHERE o.n = last_insert_rowid()
      AND o.destination = NEW.destination AND o.ordering_key = NEW.ordering_key)
    AND NOT EXISTS (SELECT 1 FROM counterfoil_delivery WHERE n = last_insert_rowid())
    AND NOT EXISTS (SELECT 1 FROM counterfoil_receipt WHERE n = last_insert_rowid())) IS NOT TRUE
BEGIN SELECT RAISE(ABORT, 'CF0126 lanes are Counterfoil''s own: order follows from commits'); END;
CREATE TRIGGER counterfoil_lane_no_update BEFORE UPDATE ON counterfoil_lane
WHEN (NEW.last = OLD.last + 1 AND NEW.destination = OLD.destination
    AND NEW.ordering_key = OLD.ordering_key AND NEW.n = coalesce(OLD.n, last_insert_rowid())
    AND EXISTS (SELECT 1 FROM counterfoil_outbox o WHERE o.n = last_insert_rowid()
      AND o.destination = NEW.destination AND o.ordering_key = NEW.ordering_key)
    AND NOT EXISTS (SELECT 1 FROM counterfoil_delivery WHERE n = last_insert_rowid())
    AND NOT EXISTS (SELECT 1 FROM counterfoil_receipt WHERE n = last_insert_rowid())) IS NOT TRUE
BEGIN SELECT RAISE(ABORT, 'CF0126 lanes are Counterfoil''s own: order follows from commits'); END;

-- A note is made by a report while it is carried out, or by the insert of a command of its lane.
CREATE TRIGGER counterfoil_lane_freed_no_insert BEFORE INSERT ON counterfoil_lane_freed
WHEN (NOT EXISTS (SELECT 1 FROM counterfoil_lane_freed
      WHERE destination = NEW.destination AND ordering_key = NEW.ordering_key)
    AND (EXISTS (SELECT 1 FROM counterfoil_reporting)
      OR (EXISTS (SELECT 1 FROM counterfoil_outbox o WHERE o.n = last_insert_rowid()
          AND o.destination = NEW.destination AND o.ordering_key = NEW.ordering_key)
        AND NOT EXISTS (SELECT 1 FROM counterfoil_delivery WHERE n = last_insert_rowid())
        AND NOT EXISTS (SELECT 1 FROM counterfoil_receipt WHERE n = last_insert_rowid()))))
  IS NOT TRUE
BEGIN SELECT RAISE(ABORT, 'CF0126 lanes are Counterfoil''s own: order follows from commits'); END;
CREATE TRIGGER counterfoil_lane_freed_no_update BEFORE UPDATE ON counterfoil_lane_freed
BEGIN SELECT RAISE(ABORT, 'CF0126 lanes are Counterfoil''s own: order follows from commits'); END;
CREATE TRIGGER counterfoil_lane_freed_no_delete BEFORE DELETE ON counterfoil_lane_freed
BEGIN SELECT RAISE(ABORT, 'CF0126 lanes are Counterfoil''s own: order follows from commits'); END;

-- Behind any other open command of its lane a new one waits. Where nobody has the turn, those
-- before it are parked or freed; whether they may be passed is a sweep's to know.
DROP TRIGGER counterfoil_outbox_made;
CREATE TRIGGER counterfoil_outbox_made AFTER INSERT ON counterfoil_outbox
BEGIN
  SELECT RAISE(ABORT, 'CF0101 n, stream, seq, idx and erased_at are Counterfoil''s own: leave them out; decisions are written by the library')
  WHERE NEW.n < 1;
  INSERT INTO counterfoil_lane(destination, ordering_key, last, n)
  SELECT NEW.destination, NEW.ordering_key, 0, NEW.n WHERE NEW.ordering_key IS NOT NULL
    AND NOT EXISTS (SELECT 1 FROM counterfoil_lane
      WHERE destination = NEW.destination AND ordering_key = NEW.ordering_key);
  UPDATE counterfoil_lane SET last = last + 1, n = coalesce(n, NEW.n)
  WHERE destination = NEW.destination AND ordering_key = NEW.ordering_key;
  INSERT INTO counterfoil_lane_freed(destination, ordering_key)
  SELECT l.destination, l.ordering_key FROM counterfoil_lane l
  WHERE l.destination = NEW.destination AND l.ordering_key = NEW.ordering_key
    AND NOT EXISTS (SELECT 1 FROM counterfoil_delivery WHERE turn = l.n)
    AND EXISTS (SELECT 1 FROM counterfoil_delivery
      WHERE destination = NEW.destination AND ordering_key = NEW.ordering_key
        AND ordering_key IS NOT NULL AND turn IS NULL)
    AND NOT EXISTS (SELECT 1 FROM counterfoil_lane_freed
      WHERE destination = NEW.destination AND ordering_key = NEW.ordering_key);
  INSERT INTO counterfoil_delivery(n, destination, state, available_at, turn, expires_at,
    ordering_key, key_seq)
  SELECT NEW.n, NEW.destination, 'pending',
    CASE WHEN waits THEN NULL ELSE coalesce(NEW.not_before, NEW.recorded_at) END,
    CASE WHEN waits THEN NULL ELSE number END, NEW.expires_at, NEW.ordering_key, place
  FROM (SELECT l.n AS number, l.last AS place, l.n IS NOT NULL AND (
      EXISTS (SELECT 1 FROM counterfoil_delivery WHERE turn = l.n)
      OR EXISTS (SELECT 1 FROM counterfoil_delivery
        WHERE destination = NEW.destination AND ordering_key = NEW.ordering_key
          AND ordering_key IS NOT NULL AND turn IS NULL)) AS waits
    FROM (SELECT 1) LEFT JOIN counterfoil_lane l
      ON l.destination = NEW.destination AND l.ordering_key = NEW.ordering_key);
END;

-- As before, but that the turn is the lane's number.
DROP TRIGGER counterfoil_delivery_guard;
CREATE TRIGGER counterfoil_delivery_guard BEFORE INSERT ON counterfoil_delivery
WHEN (last_insert_rowid() = NEW.n AND NEW.state = 'pending' AND NEW.round = 1
    AND NEW.round_since IS NULL AND NEW.attempts = 0 AND NEW.asks = 0 AND NEW.in_doubt = 0
    AND NEW.token = 0
    AND NEW.lease_until IS NULL AND NEW.lease_owner IS NULL AND NEW.first_sent_at IS NULL
    AND NEW.last_lease_until IS NULL AND NEW.digest IS NULL AND NEW.row_digest IS NULL
    AND NEW.last_outcome IS NULL
    AND EXISTS (SELECT 1 FROM counterfoil_outbox o WHERE o.n = NEW.n
      AND o.destination = NEW.destination
      AND o.ordering_key IS NEW.ordering_key
      AND NEW.key_seq IS (SELECT last FROM counterfoil_lane l
        WHERE l.destination = o.destination AND l.ordering_key = o.ordering_key)
      AND (NEW.available_at = coalesce(o.not_before, o.recorded_at)
        OR (NEW.available_at IS NULL AND NEW.ordering_key IS NOT NULL))
      AND NEW.turn IS CASE WHEN NEW.available_at IS NOT NULL THEN (SELECT l.n
        FROM counterfoil_lane l
        WHERE l.destination = o.destination AND l.ordering_key = o.ordering_key) END
      AND NEW.expires_at IS o.expires_at)
    AND NOT EXISTS (SELECT 1 FROM counterfoil_delivery WHERE n = NEW.n)
    AND NOT EXISTS (SELECT 1 FROM counterfoil_receipt WHERE n = NEW.n)) IS NOT TRUE
BEGIN
  SELECT RAISE(ABORT, 'CF0120 deliveries are Counterfoil''s own: insert a command into counterfoil_outbox, report through counterfoil_report');
END;

-- As before, but that a lane in which others wait is noted for the next sweep: the turn itself is
-- given by our own writes alone, so that a report takes no row but those of its command.
DROP TRIGGER counterfoil_reporting_made;
CREATE TRIGGER counterfoil_reporting_made AFTER INSERT ON counterfoil_reporting
BEGIN
  INSERT INTO counterfoil_contradiction(
    command_id, round, outcome, result, evidence, source, recorded_at)
  SELECT NEW.command_id, e.round, NEW.outcome, NEW.result, NEW.evidence, 'report',
    CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER)
  FROM (
    SELECT o.n AS n, r.round AS round, r.outcome AS outcome
    FROM counterfoil_outbox o JOIN counterfoil_receipt r ON r.n = o.n
    WHERE o.command_id = NEW.command_id
      AND NOT EXISTS (SELECT 1 FROM counterfoil_delivery d WHERE d.n = o.n)
      AND NOT EXISTS (SELECT 1 FROM counterfoil_receipt r2 WHERE r2.n = o.n AND r2.round > r.round)
    UNION ALL
    SELECT NULL, rounds, outcome FROM counterfoil_archived WHERE command_id = NEW.command_id
  ) e
  WHERE e.outcome <> NEW.outcome
    -- A broker took it, and then it was done.
    AND NOT (e.outcome = 'accepted' AND NEW.outcome = 'completed')
    AND NOT EXISTS (SELECT 1 FROM counterfoil_receipt r WHERE r.n = e.n
      AND r.outcome = NEW.outcome AND r.result IS NEW.result AND r.evidence = NEW.evidence)
    AND NOT EXISTS (SELECT 1 FROM counterfoil_contradiction c
      WHERE c.command_id = NEW.command_id AND c.round = e.round AND c.outcome = NEW.outcome
        AND c.result IS NEW.result AND c.evidence = NEW.evidence);

  INSERT INTO counterfoil_receipt(n, round, outcome, result, evidence, source, destination,
    attempts, token, first_sent_at, key_seq, digest, row_digest, recorded_at)
  SELECT d.n, d.round, NEW.outcome, NEW.result, NEW.evidence, 'report', d.destination,
    d.attempts, d.token, d.first_sent_at, d.key_seq, d.digest, d.row_digest,
    CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER)
  FROM counterfoil_outbox o JOIN counterfoil_delivery d ON d.n = o.n
  WHERE o.command_id = NEW.command_id
    AND (NEW.token IS NOT NULL OR NOT EXISTS (SELECT 1 FROM counterfoil_receipt r
      WHERE r.n = d.n AND r.round < d.round AND r.outcome = NEW.outcome
        AND r.result IS NEW.result AND r.evidence = NEW.evidence));

  INSERT INTO counterfoil_tally(destination, outcome, count)
  SELECT r.destination, r.outcome, 1
  FROM counterfoil_outbox o JOIN counterfoil_delivery d ON d.n = o.n
  JOIN counterfoil_receipt r ON r.n = d.n AND r.round = d.round
  WHERE o.command_id = NEW.command_id
  ON CONFLICT(destination, outcome) DO UPDATE SET count = count + 1;

  INSERT INTO counterfoil_lane_freed(destination, ordering_key)
  SELECT d.destination, d.ordering_key
  FROM counterfoil_outbox o JOIN counterfoil_delivery d ON d.n = o.n
  JOIN counterfoil_receipt r ON r.n = d.n AND r.round = d.round
  WHERE o.command_id = NEW.command_id AND d.ordering_key IS NOT NULL
    AND (d.turn IS NOT NULL OR d.state <> 'pending')
    AND EXISTS (SELECT 1 FROM counterfoil_delivery w
      WHERE w.destination = d.destination AND w.ordering_key = d.ordering_key
        AND w.ordering_key IS NOT NULL AND w.turn IS NULL AND w.n <> d.n)
    AND NOT EXISTS (SELECT 1 FROM counterfoil_lane_freed f
      WHERE f.destination = d.destination AND f.ordering_key = d.ordering_key);

  DELETE FROM counterfoil_delivery
  WHERE n = (SELECT n FROM counterfoil_outbox WHERE command_id = NEW.command_id)
    AND EXISTS (SELECT 1 FROM counterfoil_receipt r
      WHERE r.n = counterfoil_delivery.n AND r.round = counterfoil_delivery.round);

  DELETE FROM counterfoil_reporting;
END;

DROP TRIGGER counterfoil_meta_no_update;
UPDATE counterfoil_meta SET version = 8;
CREATE TRIGGER counterfoil_meta_no_update BEFORE UPDATE ON counterfoil_meta
BEGIN SELECT RAISE(ABORT, 'CF0131 the meta row is Counterfoil''s own: use counterfoil init'); END;

-- Workflows: who decides a stream, and for whom each input waits.
--
-- An input carries the program that it waits for, so that a runner finds its own and walks over
-- nobody else's: the name alone for a start, name/version for a stream that has begun; NULL where
-- it waits for a stream that never began, or is quarantined.

-- What a workflow's decision said beside its events, on the event of its input.
ALTER TABLE counterfoil_event ADD COLUMN decided TEXT;

ALTER TABLE counterfoil_stream ADD COLUMN lease_owner TEXT;
ALTER TABLE counterfoil_stream ADD COLUMN lease_until INTEGER;
ALTER TABLE counterfoil_stream ADD COLUMN reason TEXT;      -- why it is quarantined
ALTER TABLE counterfoil_stream ADD COLUMN input TEXT;       -- on which input
ALTER TABLE counterfoil_stream ADD COLUMN changed_at INTEGER;
-- Lists by status: those that completed, nearly all one day, stand in none.
CREATE INDEX counterfoil_stream_status ON counterfoil_stream(status) WHERE status <> 'completed';

-- Anew, since a column whose default is the time cannot be added.
CREATE TABLE counterfoil_input_before AS
  SELECT stream, id, kind, name, body, due_at FROM counterfoil_input ORDER BY rowid;
DROP TABLE counterfoil_input;
-- A rowid table: the rowid is the order of arrival.
CREATE TABLE counterfoil_input(
  stream      TEXT NOT NULL,
  id          TEXT NOT NULL,
  kind        TEXT NOT NULL,        -- start, signal, cancel; receipt and timer are our own
  name        TEXT NOT NULL,
  body        ANY,
  due_at      INTEGER,              -- NULL: due at once
  workflow    TEXT,                 -- the program that it waits for
  recorded_at INTEGER NOT NULL
    DEFAULT (CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER)),
  PRIMARY KEY(stream, id)
) STRICT;
-- What a runner takes; the rowid is the tail of the index by itself.
CREATE INDEX counterfoil_input_due
  ON counterfoil_input(workflow, due_at) WHERE workflow IS NOT NULL;
-- What waits for a workflow that is not there.
CREATE INDEX counterfoil_input_aside
  ON counterfoil_input(stream, id) WHERE workflow IS NULL;
INSERT INTO counterfoil_input(stream, id, kind, name, body, due_at, workflow)
SELECT i.stream, i.id, i.kind, i.name, i.body, i.due_at,
  CASE WHEN s.workflow IS NOT NULL THEN CASE WHEN s.status = 'running' OR s.status = 'completed'
      OR s.status = 'failed' THEN s.workflow || '/' || s.version END
    WHEN i.kind = 'start' THEN i.name END
FROM counterfoil_input_before i LEFT JOIN counterfoil_stream s ON s.stream = i.stream
ORDER BY i.rowid;
DROP TABLE counterfoil_input_before;

-- The same id twice is the same start or signal, also after it was decided and stands as the cause
-- of an event, whose kind then holds the input's kind and name. An explicit rowid could push
-- itself before others, or replace one. 'now' is one time within a statement, so a recorded_at that
-- is given is seen. A report that is being carried out writes receipts; no statement of a stranger
-- ever finds one.
CREATE TRIGGER counterfoil_input_guard BEFORE INSERT ON counterfoil_input
WHEN NOT EXISTS (SELECT 1 FROM counterfoil_reporting)
BEGIN
  SELECT CASE
    WHEN NEW.rowid <> -1 OR NEW.due_at IS NOT NULL OR NEW.workflow IS NOT NULL
      OR NEW.recorded_at IS NOT CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER)
      OR NOT coalesce(NEW.kind = 'start' OR NEW.kind = 'signal' OR NEW.kind = 'cancel', 0)
    THEN RAISE(ABORT, 'CF0301 an input''s kind is start, signal or cancel: timers, receipts, due_at, workflow, recorded_at and rowid are Counterfoil''s own')
    WHEN typeof(NEW.stream) <> 'text' OR typeof(NEW.id) <> 'text' OR typeof(NEW.name) <> 'text'
      OR length(CAST(NEW.stream AS BLOB)) NOT BETWEEN 1 AND 200
      OR length(CAST(NEW.id AS BLOB)) NOT BETWEEN 1 AND 255
      OR length(CAST(NEW.name AS BLOB)) NOT BETWEEN 1 AND 240
      OR instr(CAST(NEW.stream || NEW.id || NEW.name AS BLOB), x'00')
      OR NEW.stream || NEW.id || NEW.name
        GLOB '*[' || char(1) || '-' || char(31) || char(127) || ']*'
    THEN RAISE(ABORT, 'CF0302 stream is text of 1 to 200 bytes, id of 1 to 255 and name of 1 to 240, all without control characters: give all three')
    WHEN NEW.kind = 'start' AND instr(NEW.name, '/')
    THEN RAISE(ABORT, 'CF0307 the name of a start is that of its workflow, which has no slash: the version is chosen by the runner')
    WHEN NEW.id GLOB 'receipt:*' OR NEW.id GLOB 'timer:*'
    THEN RAISE(ABORT, 'CF0306 ids that begin with receipt: or timer: are Counterfoil''s own: take another id')
    WHEN typeof(NEW.body) IN ('integer', 'real') OR length(CAST(NEW.body AS BLOB)) > 16777216
    THEN RAISE(ABORT, 'CF0303 body is text or bytes of at most 16 MiB, or NULL: bind JSON as text')
  END;
  SELECT CASE
    WHEN i.kind = NEW.kind AND i.name = NEW.name AND CAST(i.body AS BLOB) IS CAST(NEW.body AS BLOB)
    THEN RAISE(IGNORE)
    ELSE RAISE(ABORT, 'CF0304 same id, other content: another start or signal needs another id')
  END FROM counterfoil_input i WHERE i.stream = NEW.stream AND i.id = NEW.id;
  SELECT CASE
    WHEN e.kind = NEW.kind || ':' || NEW.name
      AND CAST(e.body AS BLOB) IS CAST(coalesce(NEW.body, '') AS BLOB) THEN RAISE(IGNORE)
    ELSE RAISE(ABORT, 'CF0304 same id, other content: another start or signal needs another id')
  END FROM counterfoil_event e
  WHERE e.stream = NEW.stream AND e.cause = NEW.id AND e.cause IS NOT NULL;
END;
-- Names the program that the input waits for; a report has named it already.
CREATE TRIGGER counterfoil_input_made AFTER INSERT ON counterfoil_input
WHEN NOT EXISTS (SELECT 1 FROM counterfoil_reporting)
BEGIN
  SELECT RAISE(ABORT, 'CF0301 an input''s kind is start, signal or cancel: timers, receipts, due_at, workflow, recorded_at and rowid are Counterfoil''s own')
  WHERE NEW.rowid < 1;
  UPDATE counterfoil_input SET workflow = program
  FROM (SELECT CASE WHEN s.workflow IS NOT NULL THEN CASE WHEN s.status = 'running'
        OR s.status = 'completed' OR s.status = 'failed' THEN s.workflow || '/' || s.version END
      WHEN NEW.kind = 'start' THEN NEW.name END AS program
    FROM (SELECT 1) LEFT JOIN counterfoil_stream s ON s.stream = NEW.stream)
  WHERE counterfoil_input.rowid = NEW.rowid AND program IS NOT NULL;
END;
-- Only what the trigger above does to the row that was inserted last: whoever repeats it changes
-- nothing that would not be so.
CREATE TRIGGER counterfoil_input_no_update BEFORE UPDATE ON counterfoil_input
WHEN (OLD.rowid = last_insert_rowid() AND NEW.rowid = OLD.rowid AND OLD.workflow IS NULL
    AND NEW.stream = OLD.stream AND NEW.id = OLD.id AND NEW.kind = OLD.kind
    AND NEW.name = OLD.name AND NEW.body IS OLD.body AND NEW.due_at IS OLD.due_at
    AND NEW.recorded_at = OLD.recorded_at
    AND NEW.workflow = (SELECT CASE WHEN s.workflow IS NOT NULL THEN CASE WHEN s.status = 'running'
          OR s.status = 'completed' OR s.status = 'failed' THEN s.workflow || '/' || s.version END
        WHEN NEW.kind = 'start' THEN NEW.name END
      FROM (SELECT 1) LEFT JOIN counterfoil_stream s ON s.stream = NEW.stream)) IS NOT TRUE
BEGIN
  SELECT RAISE(ABORT, 'CF0305 an input is not changed or taken back: send another one');
END;
CREATE TRIGGER counterfoil_input_no_delete BEFORE DELETE ON counterfoil_input
BEGIN
  SELECT RAISE(ABORT, 'CF0305 an input is not changed or taken back: send another one');
END;

-- As before, but that a workflow decides its own events, and what it said beside them is its own.
-- A stream that was a service's before somebody sent it a start stays the service's.
DROP TRIGGER counterfoil_event_guard;
CREATE TRIGGER counterfoil_event_guard BEFORE INSERT ON counterfoil_event
BEGIN
  SELECT CASE
    WHEN last_insert_rowid() <> -4850183029413771009 OR NEW.decided IS NOT NULL
    THEN RAISE(ABORT, 'CF0111 events are written by the library and never changed: append a decision through it')
    WHEN typeof(NEW.stream) <> 'text' OR typeof(NEW.kind) <> 'text'
      OR length(CAST(NEW.stream AS BLOB)) NOT BETWEEN 1 AND 200
      OR length(CAST(NEW.kind AS BLOB)) NOT BETWEEN 1 AND 255
      OR length(CAST(NEW.cause AS BLOB)) NOT BETWEEN 1 AND 255
      OR instr(CAST(NEW.stream || NEW.kind || coalesce(NEW.cause, '') AS BLOB), x'00')
      OR NEW.stream || NEW.kind || coalesce(NEW.cause, '')
        GLOB '*[' || char(1) || '-' || char(31) || char(127) || ']*'
      OR typeof(NEW.body) NOT IN ('text', 'blob')
      OR length(CAST(NEW.body AS BLOB)) > 16777216
      OR NEW.commands IS NULL OR NEW.commands < 0
      OR NEW.recorded_at IS NULL
      OR NEW.recorded_at NOT BETWEEN 1000000000000000 AND 9999999999999999
    THEN RAISE(ABORT, 'CF0119 a value of this event is out of its bounds: stream 1 to 200 bytes, kind and cause 1 to 255, no control characters, body text or bytes, times in microseconds')
    WHEN EXISTS (SELECT 1 FROM counterfoil_stream s
      WHERE s.stream = NEW.stream AND s.workflow IS NOT NULL
        AND NOT (s.status = 'quarantined' AND EXISTS (SELECT 1 FROM counterfoil_event b
          WHERE b.stream = NEW.stream AND b.seq = 1
            AND NOT (b.kind GLOB 'start:*' AND b.cause IS NOT NULL))))
    THEN RAISE(ABORT, 'CF0134 this stream is a workflow''s, which decides its own events: send it a signal, or append to another stream')
    WHEN NEW.seq IS NOT coalesce(
        (SELECT max(seq) FROM counterfoil_event WHERE stream = NEW.stream),
        (SELECT head FROM counterfoil_stream WHERE stream = NEW.stream), 0) + 1
      OR EXISTS (SELECT 1 FROM counterfoil_event
        WHERE stream = NEW.stream AND cause = NEW.cause AND cause IS NOT NULL)
    THEN RAISE(ABORT, 'CF0119 an event takes the next seq of its stream, and a cause stands once: read the head and append again')
  END;
END;

-- As before, but that the receipt of a workflow's command becomes its input.
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

  -- The first receipt of a workflow's command is an input of it.
  INSERT INTO counterfoil_input(stream, id, kind, name, workflow)
  SELECT o.stream, 'receipt:' || o.seq || ':' || o.idx, 'receipt', r.outcome,
    CASE WHEN s.status = 'running' OR s.status = 'completed' OR s.status = 'failed'
      THEN s.workflow || '/' || s.version END
  FROM counterfoil_outbox o JOIN counterfoil_delivery d ON d.n = o.n
  JOIN counterfoil_receipt r ON r.n = d.n AND r.round = d.round
  JOIN counterfoil_stream s ON s.stream = o.stream AND s.workflow IS NOT NULL
  WHERE o.command_id = NEW.command_id AND o.stream IS NOT NULL
    AND NOT EXISTS (SELECT 1 FROM counterfoil_receipt b WHERE b.n = o.n AND b.round < r.round)
    AND NOT EXISTS (SELECT 1 FROM counterfoil_input i
      WHERE i.stream = o.stream AND i.id = 'receipt:' || o.seq || ':' || o.idx)
    AND NOT EXISTS (SELECT 1 FROM counterfoil_event e WHERE e.stream = o.stream
      AND e.cause = 'receipt:' || o.seq || ':' || o.idx AND e.cause IS NOT NULL);

  DELETE FROM counterfoil_delivery
  WHERE n = (SELECT n FROM counterfoil_outbox WHERE command_id = NEW.command_id)
    AND EXISTS (SELECT 1 FROM counterfoil_receipt r
      WHERE r.n = counterfoil_delivery.n AND r.round = counterfoil_delivery.round);

  DELETE FROM counterfoil_reporting;
END;

DROP TRIGGER counterfoil_meta_no_update;
UPDATE counterfoil_meta SET version = 10;
CREATE TRIGGER counterfoil_meta_no_update BEFORE UPDATE ON counterfoil_meta
BEGIN SELECT RAISE(ABORT, 'CF0131 the meta row is Counterfoil''s own: use counterfoil init'); END;

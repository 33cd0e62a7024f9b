-- Lanes: commands of one ordering key at one destination go one at a time, in commit order.
--
-- A place is drawn from counterfoil_lane in the writer's own transaction. Whoever has the turn has
-- an available_at, everybody behind it none; so claims never walk those that wait, and the unique
-- index below lets one command of a lane be due or in flight, and no more.
--
-- No row of a version before this one has an ordering key: both doors refused it.

-- 1 while it has the turn of its lane, else NULL: a column of its own, since an index that names
-- available_at would cost every claim a cursor.
ALTER TABLE counterfoil_delivery ADD COLUMN turn INTEGER;
CREATE UNIQUE INDEX counterfoil_delivery_turn
  ON counterfoil_delivery(destination, ordering_key) WHERE turn IS NOT NULL;
-- As before, but without the state: an index that names a column which a claim changes costs every
-- claim a cursor. What is parked past its expiry stays in it until a person ends it.
DROP INDEX counterfoil_delivery_expiry;
CREATE INDEX counterfoil_delivery_expiry
  ON counterfoil_delivery(expires_at) WHERE expires_at IS NOT NULL;
-- For the audit: it is written for commands with an ordering key only.
CREATE INDEX counterfoil_outbox_lane
  ON counterfoil_outbox(destination, ordering_key) WHERE ordering_key IS NOT NULL;

-- As before, but for ordering_key.
DROP TRIGGER counterfoil_outbox_guard;
CREATE TRIGGER counterfoil_outbox_guard BEFORE INSERT ON counterfoil_outbox
BEGIN
  SELECT CASE
    WHEN NEW.n <> -1 OR NEW.erased_at IS NOT NULL
      OR ((NEW.stream IS NOT NULL OR NEW.seq IS NOT NULL OR NEW.idx IS NOT NULL)
        AND last_insert_rowid() <> -4850183029413771009)
    THEN RAISE(ABORT, 'CF0101 n, stream, seq, idx and erased_at are Counterfoil''s own: leave them out; decisions are written by the library')
    WHEN typeof(NEW.command_id) <> 'text'
      OR length(CAST(NEW.command_id AS BLOB)) NOT BETWEEN 1 AND 255
    THEN RAISE(ABORT, 'CF0102 command_id is text of 1 to 255 bytes: name the intent by a business id, such as order.paid:A-001')
    WHEN typeof(NEW.destination) <> 'text' OR typeof(NEW.kind) <> 'text'
      OR length(CAST(NEW.destination AS BLOB)) NOT BETWEEN 1 AND 255
      OR length(CAST(NEW.kind AS BLOB)) NOT BETWEEN 1 AND 255
    THEN RAISE(ABORT, 'CF0105 destination and kind are text of 1 to 255 bytes: give both')
    WHEN typeof(NEW.content_type) <> 'text'
      OR length(CAST(NEW.content_type AS BLOB)) NOT BETWEEN 1 AND 255
    THEN RAISE(ABORT, 'CF0106 content_type is text of 1 to 255 bytes: leave it out for application/json')
    WHEN instr(CAST(NEW.command_id || NEW.destination || NEW.kind || NEW.content_type AS BLOB),
        x'00')
      OR NEW.command_id || NEW.destination || NEW.kind || NEW.content_type
        GLOB '*[' || char(1) || '-' || char(31) || char(127) || ']*'
    THEN RAISE(ABORT, 'CF0107 command_id, destination, kind and content_type hold no control characters: remove them')
    WHEN typeof(NEW.body) NOT IN ('text', 'blob')
    THEN RAISE(ABORT, 'CF0108 body is text or bytes: bind JSON as text, an empty body as empty text')
    WHEN length(CAST(NEW.body AS BLOB)) > 16777216
    THEN RAISE(ABORT, 'CF0109 body is at most 16 MiB: store the rest elsewhere and send a reference')
    WHEN NEW.ordering_key IS NOT NULL AND (typeof(NEW.ordering_key) <> 'text'
      OR length(CAST(NEW.ordering_key AS BLOB)) NOT BETWEEN 1 AND 255
      OR instr(CAST(NEW.ordering_key AS BLOB), x'00')
      OR NEW.ordering_key GLOB '*[' || char(1) || '-' || char(31) || char(127) || ']*')
    THEN RAISE(ABORT, 'CF0113 ordering_key is text of 1 to 255 bytes without control characters: leave it out where order does not matter')
    WHEN NEW.not_before NOT BETWEEN 1000000000000000 AND 9999999999999999
      OR NEW.expires_at NOT BETWEEN 1000000000000000 AND 9999999999999999
      OR NEW.recorded_at IS NULL
      OR NEW.recorded_at NOT BETWEEN 1000000000000000 AND 9999999999999999
    THEN RAISE(ABORT, 'CF0115 times are integer microseconds UTC between 10^15 and 10^16: not seconds, milliseconds or nanoseconds')
    WHEN length(CAST(NEW.headers AS BLOB)) > 65536 OR instr(CAST(NEW.headers AS BLOB), x'00')
      OR trim(NEW.headers, char(9, 10, 13, 32)) NOT GLOB '{*}'
    THEN RAISE(ABORT, 'CF0116 headers is a JSON object of strings, as text of at most 64 KiB: leave it out for none')
    WHEN length(CAST(NEW.core_digest AS BLOB)) <> 64
      OR instr(CAST(NEW.core_digest AS BLOB), x'00')
      OR NEW.core_digest GLOB '*[^0-9a-f]*'
    THEN RAISE(ABORT, 'CF0117 core_digest is 64 lower-case hex digits, the SHA-256 of the core fields: leave it out to compare whole bodies')
    WHEN NEW.stream IS NULL AND NEW.seq IS NULL AND NEW.idx IS NULL THEN NULL
    WHEN NEW.stream IS NULL OR NEW.seq IS NULL OR NEW.idx IS NULL OR NEW.idx < 0
      OR NOT EXISTS (SELECT 1 FROM counterfoil_event
        WHERE stream = NEW.stream AND seq = NEW.seq AND commands > NEW.idx)
    THEN RAISE(ABORT, 'CF0118 a command of a decision names an event that issued it: write the event first, with its number of commands')
  END;
  SELECT CASE
    WHEN o.erased_at IS NOT NULL
    THEN RAISE(ABORT, 'CF0112 this id was erased and cannot be compared: a new intent needs a new id')
    WHEN o.destination = NEW.destination AND o.kind = NEW.kind
      AND o.ordering_key IS NEW.ordering_key
      AND CASE WHEN o.core_digest IS NOT NULL AND NEW.core_digest IS NOT NULL
        THEN o.core_digest = NEW.core_digest
        ELSE CAST(o.body AS BLOB) = CAST(NEW.body AS BLOB) END
    THEN RAISE(IGNORE)
    ELSE RAISE(ABORT, 'CF0104 same id, other content: a new intent needs a new id; the same intent repeats destination, kind and body byte for byte')
  END FROM counterfoil_outbox o WHERE o.command_id = NEW.command_id;
  SELECT RAISE(ABORT, 'CF0103 this id is archived, its command has ended: a new intent needs a new id')
  FROM counterfoil_archived WHERE command_id = NEW.command_id;
END;

-- A lane row is made or moved by the insert of a command of its lane only: that is the newest row
-- of the connection, and has neither a delivery nor a receipt yet.
DROP TRIGGER counterfoil_lane_no_insert;
CREATE TRIGGER counterfoil_lane_no_insert BEFORE INSERT ON counterfoil_lane
WHEN (NEW.last = 0
    AND NOT EXISTS (SELECT 1 FROM counterfoil_lane
      WHERE destination = NEW.destination AND ordering_key = NEW.ordering_key)
    AND EXISTS (SELECT 1 FROM counterfoil_outbox o WHERE o.n = last_insert_rowid()
      AND o.destination = NEW.destination AND o.ordering_key = NEW.ordering_key)
    AND NOT EXISTS (SELECT 1 FROM counterfoil_delivery WHERE n = last_insert_rowid())
    AND NOT EXISTS (SELECT 1 FROM counterfoil_receipt WHERE n = last_insert_rowid())) IS NOT TRUE
BEGIN SELECT RAISE(ABORT, 'CF0126 lanes are Counterfoil''s own: order follows from commits'); END;
DROP TRIGGER counterfoil_lane_no_update;
CREATE TRIGGER counterfoil_lane_no_update BEFORE UPDATE ON counterfoil_lane
WHEN (NEW.last = OLD.last + 1 AND NEW.destination = OLD.destination
    AND NEW.ordering_key = OLD.ordering_key
    AND EXISTS (SELECT 1 FROM counterfoil_outbox o WHERE o.n = last_insert_rowid()
      AND o.destination = NEW.destination AND o.ordering_key = NEW.ordering_key)
    AND NOT EXISTS (SELECT 1 FROM counterfoil_delivery WHERE n = last_insert_rowid())
    AND NOT EXISTS (SELECT 1 FROM counterfoil_receipt WHERE n = last_insert_rowid())) IS NOT TRUE
BEGIN SELECT RAISE(ABORT, 'CF0126 lanes are Counterfoil''s own: order follows from commits'); END;

-- Behind any other open command of its lane a new one waits; where that one is parked and may be
-- passed, the sweep gives the turn on.
DROP TRIGGER counterfoil_outbox_made;
CREATE TRIGGER counterfoil_outbox_made AFTER INSERT ON counterfoil_outbox
BEGIN
  SELECT RAISE(ABORT, 'CF0101 n, stream, seq, idx and erased_at are Counterfoil''s own: leave them out; decisions are written by the library')
  WHERE NEW.n < 1;
  INSERT INTO counterfoil_lane(destination, ordering_key, last)
  SELECT NEW.destination, NEW.ordering_key, 0 WHERE NEW.ordering_key IS NOT NULL
    AND NOT EXISTS (SELECT 1 FROM counterfoil_lane
      WHERE destination = NEW.destination AND ordering_key = NEW.ordering_key);
  UPDATE counterfoil_lane SET last = last + 1
  WHERE destination = NEW.destination AND ordering_key = NEW.ordering_key;
  INSERT INTO counterfoil_delivery(n, destination, state, available_at, turn, expires_at,
    ordering_key, key_seq)
  SELECT NEW.n, NEW.destination, 'pending',
    CASE WHEN waits THEN NULL ELSE coalesce(NEW.not_before, NEW.recorded_at) END,
    CASE WHEN waits OR NEW.ordering_key IS NULL THEN NULL ELSE 1 END,
    NEW.expires_at, NEW.ordering_key, (SELECT last FROM counterfoil_lane
      WHERE destination = NEW.destination AND ordering_key = NEW.ordering_key)
  FROM (SELECT NEW.ordering_key IS NOT NULL AND EXISTS (SELECT 1 FROM counterfoil_delivery
    WHERE destination = NEW.destination AND ordering_key = NEW.ordering_key
      AND ordering_key IS NOT NULL) AS waits);
END;

-- As before, but that order and expiry are the command's own.
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
      AND NEW.turn IS CASE WHEN NEW.ordering_key IS NOT NULL AND NEW.available_at IS NOT NULL
        THEN 1 END
      AND NEW.expires_at IS o.expires_at)
    AND NOT EXISTS (SELECT 1 FROM counterfoil_delivery WHERE n = NEW.n)
    AND NOT EXISTS (SELECT 1 FROM counterfoil_receipt WHERE n = NEW.n)) IS NOT TRUE
BEGIN
  SELECT RAISE(ABORT, 'CF0120 deliveries are Counterfoil''s own: insert a command into counterfoil_outbox, report through counterfoil_report');
END;

DROP TRIGGER counterfoil_meta_no_update;
UPDATE counterfoil_meta SET version = 7;
CREATE TRIGGER counterfoil_meta_no_update BEFORE UPDATE ON counterfoil_meta
BEGIN SELECT RAISE(ABORT, 'CF0131 the meta row is Counterfoil''s own: use counterfoil init'); END;

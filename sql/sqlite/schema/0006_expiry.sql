-- Commands may expire: expires_at is copied into the delivery, so that a sweep finds what is past
-- it by an index that holds pending commands with an expiry and no others.
--
-- No row of a version before this one has an expiry: both doors refused it.

ALTER TABLE counterfoil_delivery ADD COLUMN expires_at INTEGER;
CREATE INDEX counterfoil_delivery_expiry
  ON counterfoil_delivery(expires_at) WHERE expires_at IS NOT NULL AND state = 'pending';

-- As before, but for expires_at.
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
    WHEN NEW.ordering_key IS NOT NULL
    THEN RAISE(ABORT, 'CF0113 ordering_key is not yet supported: leave it out')
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

DROP TRIGGER counterfoil_outbox_made;
CREATE TRIGGER counterfoil_outbox_made AFTER INSERT ON counterfoil_outbox
BEGIN
  SELECT RAISE(ABORT, 'CF0101 n, stream, seq, idx and erased_at are Counterfoil''s own: leave them out; decisions are written by the library')
  WHERE NEW.n < 1;
  INSERT INTO counterfoil_delivery(n, destination, state, available_at, expires_at)
  VALUES (NEW.n, NEW.destination, 'pending', coalesce(NEW.not_before, NEW.recorded_at),
    NEW.expires_at);
END;

-- As before, but that the expiry is the command's own.
DROP TRIGGER counterfoil_delivery_guard;
CREATE TRIGGER counterfoil_delivery_guard BEFORE INSERT ON counterfoil_delivery
WHEN (last_insert_rowid() = NEW.n AND NEW.state = 'pending' AND NEW.round = 1
    AND NEW.round_since IS NULL AND NEW.attempts = 0 AND NEW.asks = 0 AND NEW.in_doubt = 0
    AND NEW.ordering_key IS NULL AND NEW.key_seq IS NULL AND NEW.token = 0
    AND NEW.lease_until IS NULL AND NEW.lease_owner IS NULL AND NEW.first_sent_at IS NULL
    AND NEW.last_lease_until IS NULL AND NEW.digest IS NULL AND NEW.row_digest IS NULL
    AND NEW.last_outcome IS NULL
    AND EXISTS (SELECT 1 FROM counterfoil_outbox o WHERE o.n = NEW.n
      AND o.destination = NEW.destination
      AND NEW.available_at = coalesce(o.not_before, o.recorded_at)
      AND NEW.expires_at IS o.expires_at)
    AND NOT EXISTS (SELECT 1 FROM counterfoil_delivery WHERE n = NEW.n)
    AND NOT EXISTS (SELECT 1 FROM counterfoil_receipt WHERE n = NEW.n)) IS NOT TRUE
BEGIN
  SELECT RAISE(ABORT, 'CF0120 deliveries are Counterfoil''s own: insert a command into counterfoil_outbox, report through counterfoil_report');
END;
DROP TRIGGER counterfoil_meta_no_update;
UPDATE counterfoil_meta SET version = 6;
CREATE TRIGGER counterfoil_meta_no_update BEFORE UPDATE ON counterfoil_meta
BEGIN SELECT RAISE(ABORT, 'CF0131 the meta row is Counterfoil''s own: use counterfoil init'); END;

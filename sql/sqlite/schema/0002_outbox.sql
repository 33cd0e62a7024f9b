-- The guards of the outbox and of what an insert into it makes: delivery and event.
--
-- The OR clause of the *outer* statement rules inside triggers, so every rule is a RAISE of its
-- own before anything is written, and what comes after cannot fail. Counterfoil's own connections
-- run with triggers off (an API call that no SQL text can make) and keep these rules in Rust;
-- so nothing here knows an exception for archive, erase or a relay.
--
-- One pass exists: a decision inside the user's own transaction. The library arms it with
--   CREATE TEMP TABLE IF NOT EXISTS counterfoil_pass(id INTEGER PRIMARY KEY);
--   REPLACE INTO temp.counterfoil_pass VALUES (-4850183029413771009);
-- before the event and before each of its commands: last_insert_rowid() is then that number, and
-- the insert of the command spends it. It allows events and the columns stream, seq and idx, and
-- excuses no other rule.

-- An explicit n = -1 looks to a BEFORE trigger like "not given"; the AFTER trigger refuses it.
-- GLOB and length() of a text stop at a NUL, so NULs are looked for in the bytes.
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
    WHEN NEW.expires_at IS NOT NULL
    THEN RAISE(ABORT, 'CF0114 expires_at is not yet supported: leave it out')
    WHEN NEW.not_before NOT BETWEEN 1000000000000000 AND 9999999999999999
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

CREATE TRIGGER counterfoil_outbox_made AFTER INSERT ON counterfoil_outbox
BEGIN
  SELECT RAISE(ABORT, 'CF0101 n, stream, seq, idx and erased_at are Counterfoil''s own: leave them out; decisions are written by the library')
  WHERE NEW.n < 1;
  INSERT INTO counterfoil_delivery(n, destination, state, available_at)
  VALUES (NEW.n, NEW.destination, 'pending', coalesce(NEW.not_before, NEW.recorded_at));
END;

CREATE TRIGGER counterfoil_outbox_no_update BEFORE UPDATE ON counterfoil_outbox
BEGIN
  SELECT RAISE(ABORT, 'CF0110 the outbox is append only: a command is not changed; record a new intent under a new id');
END;
CREATE TRIGGER counterfoil_outbox_no_delete BEFORE DELETE ON counterfoil_outbox
BEGIN
  SELECT RAISE(ABORT, 'CF0110 the outbox is append only: a command is not changed; record a new intent under a new id');
END;

-- Only counterfoil_outbox_made can meet this: its row is the newest of the connection, has no
-- delivery and no receipt yet, and gets exactly the first values. In a sound store no such
-- command exists between two statements, so a stranger has nothing to forge.
CREATE TRIGGER counterfoil_delivery_guard BEFORE INSERT ON counterfoil_delivery
WHEN (last_insert_rowid() = NEW.n AND NEW.state = 'pending' AND NEW.round = 1
    AND NEW.round_since IS NULL AND NEW.attempts = 0 AND NEW.asks = 0 AND NEW.in_doubt = 0
    AND NEW.ordering_key IS NULL AND NEW.key_seq IS NULL AND NEW.token = 0
    AND NEW.lease_until IS NULL AND NEW.lease_owner IS NULL AND NEW.first_sent_at IS NULL
    AND NEW.last_lease_until IS NULL AND NEW.digest IS NULL AND NEW.row_digest IS NULL
    AND NEW.last_outcome IS NULL
    AND EXISTS (SELECT 1 FROM counterfoil_outbox o WHERE o.n = NEW.n
      AND o.destination = NEW.destination
      AND NEW.available_at = coalesce(o.not_before, o.recorded_at))
    AND NOT EXISTS (SELECT 1 FROM counterfoil_delivery WHERE n = NEW.n)
    AND NOT EXISTS (SELECT 1 FROM counterfoil_receipt WHERE n = NEW.n)) IS NOT TRUE
BEGIN
  SELECT RAISE(ABORT, 'CF0120 deliveries are Counterfoil''s own: insert a command into counterfoil_outbox, report through counterfoil_report');
END;
CREATE TRIGGER counterfoil_delivery_no_update BEFORE UPDATE ON counterfoil_delivery
BEGIN
  SELECT RAISE(ABORT, 'CF0120 deliveries are Counterfoil''s own: insert a command into counterfoil_outbox, report through counterfoil_report');
END;

-- seq is dense, and neither a seq nor a cause is taken twice, whatever the verb.
CREATE TRIGGER counterfoil_event_guard BEFORE INSERT ON counterfoil_event
BEGIN
  SELECT CASE
    WHEN last_insert_rowid() <> -4850183029413771009
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
    WHEN NEW.seq IS NOT coalesce(
        (SELECT max(seq) FROM counterfoil_event WHERE stream = NEW.stream),
        (SELECT head FROM counterfoil_stream WHERE stream = NEW.stream), 0) + 1
      OR EXISTS (SELECT 1 FROM counterfoil_event
        WHERE stream = NEW.stream AND cause = NEW.cause AND cause IS NOT NULL)
    THEN RAISE(ABORT, 'CF0119 an event takes the next seq of its stream, and a cause stands once: read the head and append again')
  END;
END;
CREATE TRIGGER counterfoil_event_no_update BEFORE UPDATE ON counterfoil_event
BEGIN
  SELECT RAISE(ABORT, 'CF0111 events are written by the library and never changed: append a decision through it');
END;
CREATE TRIGGER counterfoil_event_no_delete BEFORE DELETE ON counterfoil_event
BEGIN
  SELECT RAISE(ABORT, 'CF0111 events are written by the library and never changed: append a decision through it');
END;

UPDATE counterfoil_meta SET version = 2;

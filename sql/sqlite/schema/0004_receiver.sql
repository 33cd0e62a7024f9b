-- The guards of the two other tables that strangers may write: the inbox and a workflow's input.
--
-- The inbox belongs to the receiver. It may insert a key, store its outcome and result once,
-- lengthen its retention, and delete a key whose retention is over. It may not rewrite a digest,
-- change a stored outcome, or take a key that stands: INSERT fails, OR IGNORE and DO NOTHING
-- insert nothing (row count 0), OR REPLACE is refused.

-- Only OR REPLACE reaches the AFTER trigger with a key that stood before, so the BEFORE trigger
-- notes such a key here. A note may stay after OR IGNORE; the next insert clears it unread.
CREATE TABLE counterfoil_inbox_stood(source TEXT, key TEXT) STRICT;

CREATE TRIGGER counterfoil_inbox_guard BEFORE INSERT ON counterfoil_inbox
BEGIN
  SELECT CASE
    WHEN typeof(NEW.source) <> 'text' OR typeof(NEW.key) <> 'text'
      OR length(CAST(NEW.source AS BLOB)) NOT BETWEEN 1 AND 255
      OR length(CAST(NEW.key AS BLOB)) NOT BETWEEN 1 AND 255
      OR instr(CAST(NEW.source || NEW.key AS BLOB), x'00')
      OR NEW.source || NEW.key GLOB '*[' || char(1) || '-' || char(31) || char(127) || ']*'
    THEN RAISE(ABORT, 'CF0401 source and key are text of 1 to 255 bytes without control characters: take the source from the authenticated caller')
    WHEN typeof(NEW.digest) NOT IN ('text', 'blob')
      OR length(CAST(NEW.digest AS BLOB)) NOT BETWEEN 1 AND 255
    THEN RAISE(ABORT, 'CF0402 digest is text or bytes of 1 to 255 bytes: without it other content under this key is not seen')
    WHEN (NEW.outcome IS NOT NULL AND NEW.outcome NOT IN ('completed', 'rejected'))
      OR (NEW.outcome IS NULL AND NEW.result IS NOT NULL)
      OR typeof(NEW.result) IN ('integer', 'real')
      OR length(CAST(NEW.result AS BLOB)) > 16777216
    THEN RAISE(ABORT, 'CF0403 outcome is completed or rejected, and result beside it text or bytes of at most 16 MiB: leave both out until the effect is there')
    WHEN NEW.received_at IS NULL
      OR NEW.received_at NOT BETWEEN 1000000000000000 AND 9999999999999999
      OR NEW.expires_at NOT BETWEEN 1000000000000000 AND 9999999999999999
    THEN RAISE(ABORT, 'CF0404 times are integer microseconds UTC between 10^15 and 10^16: not seconds, milliseconds or nanoseconds')
  END;
  DELETE FROM counterfoil_inbox_stood;
  INSERT INTO counterfoil_inbox_stood(source, key)
  SELECT source, key FROM counterfoil_inbox WHERE source = NEW.source AND key = NEW.key;
END;
CREATE TRIGGER counterfoil_inbox_no_replace AFTER INSERT ON counterfoil_inbox
BEGIN
  SELECT RAISE(ABORT, 'CF0405 this key stands already and is not replaced: read its row, compare the digest, answer with the stored result')
  FROM counterfoil_inbox_stood WHERE source = NEW.source AND key = NEW.key;
END;

CREATE TRIGGER counterfoil_inbox_update BEFORE UPDATE ON counterfoil_inbox
BEGIN
  SELECT CASE
    WHEN NEW.source IS NOT OLD.source OR NEW.key IS NOT OLD.key
      OR NEW.digest IS NOT OLD.digest OR NEW.received_at IS NOT OLD.received_at
      OR (OLD.outcome IS NOT NULL
        AND (NEW.outcome IS NOT OLD.outcome OR NEW.result IS NOT OLD.result))
    THEN RAISE(ABORT, 'CF0406 a key keeps its digest, and an outcome once stored stays: answer repeats with the stored result')
    WHEN (NEW.outcome IS NOT NULL AND NEW.outcome NOT IN ('completed', 'rejected'))
      OR (NEW.outcome IS NULL AND NEW.result IS NOT NULL)
      OR typeof(NEW.result) IN ('integer', 'real')
      OR length(CAST(NEW.result AS BLOB)) > 16777216
    THEN RAISE(ABORT, 'CF0403 outcome is completed or rejected, and result beside it text or bytes of at most 16 MiB: leave both out until the effect is there')
    WHEN NEW.expires_at NOT BETWEEN 1000000000000000 AND 9999999999999999
    THEN RAISE(ABORT, 'CF0404 times are integer microseconds UTC between 10^15 and 10^16: not seconds, milliseconds or nanoseconds')
    WHEN coalesce(NEW.expires_at, 9999999999999999) < coalesce(OLD.expires_at, 9999999999999999)
    THEN RAISE(ABORT, 'CF0407 retention may be lengthened, not shortened: the sender may still repeat this key')
  END;
END;
-- A second of grace: julianday counts in milliseconds, a receiver's clock may be finer.
CREATE TRIGGER counterfoil_inbox_delete BEFORE DELETE ON counterfoil_inbox
WHEN OLD.expires_at IS NULL
  OR OLD.expires_at > CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER) + 1000000
BEGIN
  SELECT RAISE(ABORT, 'CF0408 this key is still kept: delete keys only after their expires_at, else a repeat acts twice');
END;

-- Input: the same id twice is the same start or signal, also after it was decided and stands as
-- the cause of an event. An explicit rowid could push itself before others, or replace one.
CREATE TRIGGER counterfoil_input_guard BEFORE INSERT ON counterfoil_input
BEGIN
  SELECT CASE
    WHEN NEW.rowid <> -1 OR NEW.due_at IS NOT NULL
      OR NOT coalesce(NEW.kind = 'start' OR NEW.kind = 'signal' OR NEW.kind = 'cancel', 0)
    THEN RAISE(ABORT, 'CF0301 an input''s kind is start, signal or cancel: timers, receipts, due_at and rowid are Counterfoil''s own')
    WHEN typeof(NEW.stream) <> 'text' OR typeof(NEW.id) <> 'text' OR typeof(NEW.name) <> 'text'
      OR length(CAST(NEW.stream AS BLOB)) NOT BETWEEN 1 AND 200
      OR length(CAST(NEW.id AS BLOB)) NOT BETWEEN 1 AND 255
      OR length(CAST(NEW.name AS BLOB)) NOT BETWEEN 1 AND 255
      OR instr(CAST(NEW.stream || NEW.id || NEW.name AS BLOB), x'00')
      OR NEW.stream || NEW.id || NEW.name
        GLOB '*[' || char(1) || '-' || char(31) || char(127) || ']*'
    THEN RAISE(ABORT, 'CF0302 stream is text of 1 to 200 bytes, id and name of 1 to 255, all without control characters: give all three')
    WHEN typeof(NEW.body) IN ('integer', 'real') OR length(CAST(NEW.body AS BLOB)) > 16777216
    THEN RAISE(ABORT, 'CF0303 body is text or bytes of at most 16 MiB, or NULL: bind JSON as text')
  END;
  SELECT CASE
    WHEN i.kind = NEW.kind AND i.name = NEW.name AND CAST(i.body AS BLOB) IS CAST(NEW.body AS BLOB)
    THEN RAISE(IGNORE)
    ELSE RAISE(ABORT, 'CF0304 same id, other content: another start or signal needs another id')
  END FROM counterfoil_input i WHERE i.stream = NEW.stream AND i.id = NEW.id;
  SELECT CASE
    WHEN CAST(e.body AS BLOB) IS CAST(coalesce(NEW.body, '') AS BLOB) THEN RAISE(IGNORE)
    ELSE RAISE(ABORT, 'CF0304 same id, other content: another start or signal needs another id')
  END FROM counterfoil_event e
  WHERE e.stream = NEW.stream AND e.cause = NEW.id AND e.cause IS NOT NULL;
END;
CREATE TRIGGER counterfoil_input_rowid AFTER INSERT ON counterfoil_input
WHEN NEW.rowid < 1
BEGIN
  SELECT RAISE(ABORT, 'CF0301 an input''s kind is start, signal or cancel: timers, receipts, due_at and rowid are Counterfoil''s own');
END;
CREATE TRIGGER counterfoil_input_no_update BEFORE UPDATE ON counterfoil_input
BEGIN
  SELECT RAISE(ABORT, 'CF0305 an input is not changed or taken back: send another one');
END;
CREATE TRIGGER counterfoil_input_no_delete BEFORE DELETE ON counterfoil_input
BEGIN
  SELECT RAISE(ABORT, 'CF0305 an input is not changed or taken back: send another one');
END;

UPDATE counterfoil_meta SET version = 4;

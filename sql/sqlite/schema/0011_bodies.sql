-- Where the bodies of events lie: in their rows, or, of workflows, in the files of an archive.
--
-- A row stays for ever. One whose body is archived has an empty body, and names the file and the
-- body's digest; our own connections alone may change that, since they run without triggers.

ALTER TABLE counterfoil_event ADD COLUMN file TEXT;    -- NULL: the body is here
ALTER TABLE counterfoil_event ADD COLUMN digest BLOB;  -- SHA-256 of a body that is not
-- Those that are archived: what a run goes on behind, what a verification reads.
CREATE INDEX counterfoil_event_file ON counterfoil_event(stream, seq) WHERE file IS NOT NULL;

-- As before, but that an input whose event is archived cannot be compared here: no function of SQL
-- computes a digest.
DROP TRIGGER counterfoil_input_guard;
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
    WHEN e.kind = NEW.kind || ':' || NEW.name AND e.file IS NOT NULL
    THEN RAISE(ABORT, 'CF0308 this input was decided and its body is archived, so SQL cannot compare it: send it by counterfoil workflow or the library, which know its digest')
    WHEN e.kind = NEW.kind || ':' || NEW.name
      AND CAST(e.body AS BLOB) IS CAST(coalesce(NEW.body, '') AS BLOB) THEN RAISE(IGNORE)
    ELSE RAISE(ABORT, 'CF0304 same id, other content: another start or signal needs another id')
  END FROM counterfoil_event e
  WHERE e.stream = NEW.stream AND e.cause = NEW.id AND e.cause IS NOT NULL;
END;

-- As before, but that no stranger says where a body lies.
DROP TRIGGER counterfoil_event_guard;
CREATE TRIGGER counterfoil_event_guard BEFORE INSERT ON counterfoil_event
BEGIN
  SELECT CASE
    WHEN last_insert_rowid() <> -4850183029413771009 OR NEW.decided IS NOT NULL
      OR NEW.file IS NOT NULL OR NEW.digest IS NOT NULL
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

DROP TRIGGER counterfoil_meta_no_update;
UPDATE counterfoil_meta SET version = 11;
CREATE TRIGGER counterfoil_meta_no_update BEFORE UPDATE ON counterfoil_meta
BEGIN SELECT RAISE(ABORT, 'CF0131 the meta row is Counterfoil''s own: use counterfoil init'); END;

-- Where the bodies of events lie: in their rows, or, of workflows, in the files of an archive.
--
-- A row stays for ever. One whose body is archived has an empty body, and names the file and the
-- body's digest; our own sessions alone may change that, as the guards of the table have it.

ALTER TABLE cf.event ADD COLUMN digest bytea,         -- SHA-256 of a body that is not here
  ADD COLUMN file text COLLATE "C";                   -- NULL: the body is here
-- Those that are archived: what a run goes on behind, what a verification reads.
CREATE INDEX event_file ON cf.event(stream, seq) WHERE file IS NOT NULL;

-- As in 0011, but that an input whose event is archived is compared by the digest of its body.
CREATE OR REPLACE FUNCTION cf.input_guard() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  refusal CONSTANT text := CASE
    WHEN NEW.due_at IS NOT NULL OR NEW.workflow IS NOT NULL OR NEW.recorded_at IS NOT NULL
      OR (NEW.kind IN ('start', 'signal', 'cancel')) IS NOT TRUE
      OR (NEW.arrival IS DISTINCT FROM pg_sequence_last_value('cf.input_arrival_seq')
        AND NOT cf.is_drawn('cf.input_arrival_seq', NEW.arrival))
    THEN 'CF0301 an input''s kind is start, signal or cancel: timers, receipts, due_at, workflow, '
      'recorded_at and arrival are Counterfoil''s own'
    WHEN (octet_length(NEW.stream) BETWEEN 1 AND 200 AND octet_length(NEW.id) BETWEEN 1 AND 255
      AND octet_length(NEW.name) BETWEEN 1 AND 240) IS NOT TRUE
      OR NEW.stream || NEW.id || NEW.name ~ '[\x01-\x1f\x7f]'
    THEN 'CF0302 stream is text of 1 to 200 bytes, id of 1 to 255 and name of 1 to 240, all '
      'without control characters: give all three'
    WHEN NEW.kind = 'start' AND strpos(NEW.name, '/') > 0
    THEN 'CF0307 the name of a start is that of its workflow, which has no slash: the version is '
      'chosen by the runner'
    WHEN starts_with(NEW.id, 'receipt:') OR starts_with(NEW.id, 'timer:')
    THEN 'CF0306 ids that begin with receipt: or timer: are Counterfoil''s own: take another id'
    WHEN octet_length(NEW.body) > 16777216
    THEN 'CF0303 body is text or bytes of at most 16 MiB, or NULL: bind JSON as text'
  END;
  equal boolean;
BEGIN
  IF refusal IS NOT NULL THEN
    RAISE check_violation USING MESSAGE = refusal;
  END IF;
  -- In one look, since a decision moves an input into an event, whose kind holds the input's kind
  -- and name. By the primary key of input and by event_cause.
  SELECT i.kind = NEW.kind AND i.name = NEW.name AND i.body IS NOT DISTINCT FROM NEW.body
  INTO equal FROM cf.input i WHERE i.stream = NEW.stream AND i.id = NEW.id
  UNION ALL
  SELECT e.kind = NEW.kind || ':' || NEW.name AND CASE WHEN e.file IS NULL
      THEN e.body = coalesce(NEW.body, '') ELSE e.digest = sha256(coalesce(NEW.body, '')) END
  FROM cf.event e WHERE e.stream = NEW.stream AND e.cause = NEW.id
  LIMIT 1;
  IF FOUND THEN
    IF equal THEN
      RETURN NULL;
    END IF;
    RAISE unique_violation USING MESSAGE = 'CF0304 same id, other content: another start or '
      'signal needs another id';
  END IF;
  -- By the primary key of stream.
  NEW.recorded_at := cf.micros();
  NEW.workflow := (SELECT cf.waits_for(NEW.kind, NEW.name, s.workflow, s.version, s.status)
    FROM (SELECT) one LEFT JOIN cf.stream s ON s.stream = NEW.stream);
  RETURN NEW;
END $$;

-- Nearly every command is written three times here within a second: made, claimed, settled. With
-- this much room each version lies beside the one before, and no index is touched: 48 bytes of WAL
-- less a command than at 70. The table is small, as rows leave it once their commands have ended.
ALTER TABLE cf.delivery SET (fillfactor = 40);

UPDATE cf.meta SET version = 12;

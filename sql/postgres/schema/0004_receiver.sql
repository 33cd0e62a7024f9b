-- The guards of the two other tables that strangers may write: the inbox and a workflow's input.
--
-- The inbox belongs to the receiver. It may insert a key, store its outcome and result once,
-- lengthen its retention, and delete a key whose retention is over. It may not rewrite a digest or
-- change a stored outcome. A key that stands: INSERT fails by the primary key, DO NOTHING inserts
-- nothing.

-- Why an outcome and its result may not stand; NULL: they may.
CREATE FUNCTION cf.inbox_refusal(i cf.inbox) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE
    WHEN i.outcome NOT IN ('completed', 'rejected')
      OR (i.outcome IS NULL AND i.result IS NOT NULL)
      OR octet_length(i.result) > 16777216
    THEN 'CF0403 outcome is completed or rejected, and result beside it text or bytes of at most '
      '16 MiB: leave both out until the effect is there'
    WHEN (i.received_at BETWEEN 1000000000000000 AND 9999999999999999) IS NOT TRUE
      OR i.expires_at NOT BETWEEN 1000000000000000 AND 9999999999999999
    THEN 'CF0404 times are integer microseconds UTC between 10^15 and 10^16: not seconds, '
      'milliseconds or nanoseconds'
  END
$$;

CREATE FUNCTION cf.inbox_guard() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  refusal CONSTANT text := CASE
    WHEN (octet_length(NEW.source) BETWEEN 1 AND 255
      AND octet_length(NEW.key) BETWEEN 1 AND 255) IS NOT TRUE
      OR NEW.source || NEW.key ~ '[\x01-\x1f\x7f]'
    THEN 'CF0401 source and key are text of 1 to 255 bytes without control characters: take the '
      'source from the authenticated caller'
    WHEN (octet_length(NEW.digest) BETWEEN 1 AND 255) IS NOT TRUE
    THEN 'CF0402 digest is text or bytes of 1 to 255 bytes: without it other content under this '
      'key is not seen'
    ELSE cf.inbox_refusal(NEW)
  END;
BEGIN
  IF refusal IS NOT NULL THEN
    RAISE check_violation USING MESSAGE = refusal;
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER inbox_guard BEFORE INSERT ON cf.inbox FOR EACH ROW
WHEN ((current_setting('counterfoil.own', true) IS DISTINCT FROM 'on'
    AND (current_setting('row_security') = 'on'
      OR current_setting('check_function_bodies') = 'on'))
  OR NOT has_table_privilege('cf.delivery'::regclass, 'UPDATE'))
EXECUTE FUNCTION cf.inbox_guard();

CREATE FUNCTION cf.inbox_changes() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  refusal CONSTANT text := CASE
    WHEN NEW.source IS DISTINCT FROM OLD.source OR NEW.key IS DISTINCT FROM OLD.key
      OR NEW.digest IS DISTINCT FROM OLD.digest
      OR NEW.received_at IS DISTINCT FROM OLD.received_at
      OR (OLD.outcome IS NOT NULL AND (NEW.outcome IS DISTINCT FROM OLD.outcome
        OR NEW.result IS DISTINCT FROM OLD.result))
    THEN 'CF0406 a key keeps its digest, and an outcome once stored stays: answer repeats with '
      'the stored result'
    WHEN coalesce(NEW.expires_at, 9999999999999999) < coalesce(OLD.expires_at, 9999999999999999)
      AND cf.inbox_refusal(NEW) IS NULL
    THEN 'CF0407 retention may be lengthened, not shortened: the sender may still repeat this key'
    ELSE cf.inbox_refusal(NEW)
  END;
BEGIN
  IF refusal IS NOT NULL THEN
    RAISE check_violation USING MESSAGE = refusal;
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER inbox_changes BEFORE UPDATE ON cf.inbox FOR EACH ROW
WHEN (current_setting('counterfoil.own', true) IS DISTINCT FROM 'on'
  OR NOT has_table_privilege('cf.delivery'::regclass, 'UPDATE'))
EXECUTE FUNCTION cf.inbox_changes();

CREATE FUNCTION cf.inbox_forgets() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF OLD.expires_at IS NULL OR OLD.expires_at > cf.micros() THEN
    RAISE check_violation USING MESSAGE = 'CF0408 this key is still kept: delete keys only after '
      'their expires_at, else a repeat acts twice';
  END IF;
  RETURN OLD;
END $$;
CREATE TRIGGER inbox_forgets BEFORE DELETE ON cf.inbox FOR EACH ROW
WHEN (current_setting('counterfoil.own', true) IS DISTINCT FROM 'on'
  OR NOT has_table_privilege('cf.delivery'::regclass, 'UPDATE'))
EXECUTE FUNCTION cf.inbox_forgets();
CREATE TRIGGER inbox_no_truncate BEFORE TRUNCATE ON cf.inbox FOR EACH STATEMENT
EXECUTE FUNCTION cf.refuse('CF0408 this key is still kept: delete keys only after their '
  'expires_at, else a repeat acts twice');

-- Input: the same id twice is the same start or signal, also after it was decided and stands as
-- the cause of an event. A number of arrival that is given could push itself before others.
CREATE FUNCTION cf.input_guard() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  refusal CONSTANT text := CASE
    WHEN NEW.due_at IS NOT NULL OR (NEW.kind IN ('start', 'signal', 'cancel')) IS NOT TRUE
      OR (NEW.arrival IS DISTINCT FROM pg_sequence_last_value('cf.input_arrival_seq')
        AND NOT cf.is_drawn('cf.input_arrival_seq', NEW.arrival))
    THEN 'CF0301 an input''s kind is start, signal or cancel: timers, receipts, due_at and '
      'arrival are Counterfoil''s own'
    WHEN (octet_length(NEW.stream) BETWEEN 1 AND 200 AND octet_length(NEW.id) BETWEEN 1 AND 255
      AND octet_length(NEW.name) BETWEEN 1 AND 255) IS NOT TRUE
      OR NEW.stream || NEW.id || NEW.name ~ '[\x01-\x1f\x7f]'
    THEN 'CF0302 stream is text of 1 to 200 bytes, id and name of 1 to 255, all without control '
      'characters: give all three'
    WHEN octet_length(NEW.body) > 16777216
    THEN 'CF0303 body is text or bytes of at most 16 MiB, or NULL: bind JSON as text'
  END;
  equal boolean;
BEGIN
  IF refusal IS NOT NULL THEN
    RAISE check_violation USING MESSAGE = refusal;
  END IF;
  -- In one look, since a decision moves an input into an event. By the primary key of input and by
  -- event_cause.
  SELECT i.kind = NEW.kind AND i.name = NEW.name AND i.body IS NOT DISTINCT FROM NEW.body
  INTO equal FROM cf.input i WHERE i.stream = NEW.stream AND i.id = NEW.id
  UNION ALL
  SELECT e.body = coalesce(NEW.body, '') FROM cf.event e
  WHERE e.stream = NEW.stream AND e.cause = NEW.id
  LIMIT 1;
  IF NOT FOUND THEN
    RETURN NEW;
  END IF;
  IF equal THEN
    RETURN NULL;
  END IF;
  RAISE unique_violation USING MESSAGE = 'CF0304 same id, other content: another start or signal '
    'needs another id';
END $$;
CREATE TRIGGER input_guard BEFORE INSERT ON cf.input FOR EACH ROW
WHEN ((current_setting('counterfoil.own', true) IS DISTINCT FROM 'on'
    AND (current_setting('row_security') = 'on'
      OR current_setting('check_function_bodies') = 'on'))
  OR NOT has_table_privilege('cf.delivery'::regclass, 'UPDATE'))
EXECUTE FUNCTION cf.input_guard();
CREATE TRIGGER input_stays BEFORE UPDATE OR DELETE ON cf.input FOR EACH ROW
WHEN (current_setting('counterfoil.own', true) IS DISTINCT FROM 'on')
EXECUTE FUNCTION cf.refuse('CF0305 an input is not changed or taken back: send another one');
CREATE TRIGGER input_no_truncate BEFORE TRUNCATE ON cf.input FOR EACH STATEMENT
EXECUTE FUNCTION cf.refuse('CF0305 an input is not changed or taken back: send another one');

-- It runs as the owner: nobody may hang it on a table of his own and ask it what stands.
REVOKE EXECUTE ON FUNCTION cf.input_guard() FROM PUBLIC;

UPDATE cf.meta SET version = 4;

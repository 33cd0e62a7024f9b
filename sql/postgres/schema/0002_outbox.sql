-- The guards of the outbox, and what an insert into it makes: the delivery and its place in a lane.
--
-- Who skips them: a session that says counterfoil.own = 'on' (Counterfoil's own, which keep the
-- rules in Rust) and one that restores a dump, which is told by the two settings that the scripts
-- of pg_dump and pg_restore make. Both count only for a role that may UPDATE deliveries: whoever
-- may not, gets the guards whatever it sets. WHEN asks that for each row, so that no statement can
-- change its mind in the middle; the right is looked at only where a session says it is our own.
--
-- Functions that look where their caller may not run as the owner, with a search_path of their own.

CREATE FUNCTION cf.refuse() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS
$$ BEGIN RAISE check_violation USING MESSAGE = TG_ARGV[0]; END $$;

-- Why a row may not enter the outbox; NULL: it may. The first rule that is broken says so.
CREATE FUNCTION cf.outbox_refusal(c cf.outbox) RETURNS text
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  control CONSTANT text := '[\x01-\x1f\x7f]';
BEGIN
  RETURN CASE
    WHEN c.erased_at IS NOT NULL OR c.stream IS NOT NULL OR c.seq IS NOT NULL
      OR c.idx IS NOT NULL
    THEN 'CF0101 n, stream, seq, idx and erased_at are Counterfoil''s own: leave them out; '
      'decisions are written by the library'
    WHEN (octet_length(c.command_id) BETWEEN 1 AND 255) IS NOT TRUE
    THEN 'CF0102 command_id is text of 1 to 255 bytes: name the intent by a business id, such as '
      'order.paid:A-001'
    WHEN (octet_length(c.destination) BETWEEN 1 AND 255
      AND octet_length(c.kind) BETWEEN 1 AND 255) IS NOT TRUE
    THEN 'CF0105 destination and kind are text of 1 to 255 bytes: give both'
    WHEN (octet_length(c.content_type) BETWEEN 1 AND 255) IS NOT TRUE
    THEN 'CF0106 content_type is text of 1 to 255 bytes: leave it out for application/json'
    WHEN (c.command_id || c.destination || c.kind || c.content_type COLLATE "C") ~ control
    THEN 'CF0107 command_id, destination, kind and content_type hold no control characters: '
      'remove them'
    WHEN c.body IS NULL
    THEN 'CF0108 body is text or bytes: bind JSON as text, an empty body as empty text'
    WHEN octet_length(c.body) > 16777216
    THEN 'CF0109 body is at most 16 MiB: store the rest elsewhere and send a reference'
    WHEN octet_length(c.ordering_key) NOT BETWEEN 1 AND 255 OR c.ordering_key ~ control
    THEN 'CF0113 ordering_key is text of 1 to 255 bytes without control characters: leave it out '
      'where order does not matter'
    WHEN c.not_before NOT BETWEEN 1000000000000000 AND 9999999999999999
      OR c.expires_at NOT BETWEEN 1000000000000000 AND 9999999999999999
      OR (c.recorded_at BETWEEN 1000000000000000 AND 9999999999999999) IS NOT TRUE
    THEN 'CF0115 times are integer microseconds UTC between 10^15 and 10^16: not seconds, '
      'milliseconds or nanoseconds'
    WHEN octet_length(c.headers) > 65536 OR NOT cf.is_headers(c.headers)
    THEN 'CF0116 headers is a JSON object of strings, as text of at most 64 KiB: leave it out for '
      'none'
    WHEN c.core_digest !~ '^[0-9a-f]{64}$'
    THEN 'CF0117 core_digest is 64 lower-case hex digits, the SHA-256 of the core fields: leave '
      'it out to compare whole bodies'
  END;
END $$;

-- Whether a text is a JSON object of strings; NULL for none. A parser that fails is caught here.
CREATE FUNCTION cf.is_headers(headers text) RETURNS boolean
LANGUAGE plpgsql STRICT SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  parsed json;
BEGIN
  parsed := headers::json;
  RETURN json_typeof(parsed) = 'object' AND NOT EXISTS (
    SELECT FROM json_each(parsed) WHERE json_typeof(value) <> 'string');
EXCEPTION WHEN data_exception OR statement_too_complex THEN
  RETURN false;
END $$;

-- What stands under an id, in one look at outbox and archived, since the archive moves rows from
-- one to the other: NULL nothing, 'equal', 'other', 'erased', and of the archive 'archived equal',
-- 'archived other'. By the unique indexes on command_id.
-- In plpgsql, since that keeps its plan from one transaction to the next.
CREATE FUNCTION cf.standing(
  command_id text, destination text, kind text, ordering_key text, body bytea, core_digest text)
RETURNS text
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
  RETURN (
    SELECT CASE
      WHEN o.erased_at IS NOT NULL THEN 'erased'
      WHEN o.destination = $2 AND o.kind = $3 AND o.ordering_key IS NOT DISTINCT FROM $4
        AND CASE WHEN o.core_digest IS NOT NULL AND $6 IS NOT NULL THEN o.core_digest = $6
          ELSE o.body = $5 END THEN 'equal'
      ELSE 'other' END
    FROM cf.outbox o WHERE o.command_id = $1
    UNION ALL
    SELECT CASE
      WHEN a.destination = $2 AND a.kind = $3 AND a.ordering_key IS NOT DISTINCT FROM $4
        AND a.digest = sha256($5) THEN 'archived equal'
      ELSE 'archived other' END
    FROM cf.archived a WHERE a.command_id = $1
    LIMIT 1);
END $$;

-- The words for what stands under an id where it refuses a new row.
CREATE FUNCTION cf.standing_refusal(standing text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE
    WHEN standing = 'erased'
    THEN 'CF0112 this id was erased and cannot be compared: a new intent needs a new id'
    WHEN standing LIKE 'archived%'
    THEN 'CF0103 this id is archived, its command has ended: a new intent needs a new id'
    ELSE 'CF0104 same id, other content: a new intent needs a new id; the same intent repeats '
      'destination, kind and body byte for byte'
  END
$$;

-- Whether this session drew the number just now: one that was given was not drawn. Only the last
-- value of the whole sequence is asked first, since a session that never drew one raises.
CREATE FUNCTION cf.is_drawn(sequence regclass, number bigint) RETURNS boolean
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RETURN currval(sequence) = number;
EXCEPTION WHEN object_not_in_prerequisite_state THEN
  RETURN false;
END $$;

CREATE FUNCTION cf.outbox_guard() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  refusal text;
  standing text;
BEGIN
  IF NEW.n IS DISTINCT FROM pg_sequence_last_value('cf.outbox_n_seq')
    AND NOT cf.is_drawn('cf.outbox_n_seq', NEW.n) THEN
    RAISE check_violation USING MESSAGE = 'CF0101 n, stream, seq, idx and erased_at are '
      'Counterfoil''s own: leave them out; decisions are written by the library';
  END IF;
  refusal := cf.outbox_refusal(NEW);
  IF refusal IS NOT NULL THEN
    RAISE check_violation USING MESSAGE = refusal;
  END IF;
  standing := cf.standing(NEW.command_id, NEW.destination, NEW.kind, NEW.ordering_key, NEW.body,
    NEW.core_digest);
  IF standing IS NULL THEN
    -- A sequence that is behind draws a number that stands; DO NOTHING would drop the new command
    -- without a word. By the primary key of outbox.
    IF EXISTS (SELECT FROM cf.outbox o WHERE o.n = NEW.n) THEN
      RAISE object_not_in_prerequisite_state USING MESSAGE = 'CF0133 the sequence of n is behind '
        'the numbers that stand, as after a copy without sequences: let the owner run SELECT '
        'setval(''cf.outbox_n_seq'', max(n)) FROM cf.outbox';
    END IF;
    RETURN NEW;
  END IF;
  -- enqueue() and the library compare by themselves, so that their transaction stays usable.
  IF standing = 'equal' OR current_setting('counterfoil.compare', true) = 'caller' THEN
    RETURN NULL;
  END IF;
  RAISE unique_violation USING MESSAGE = cf.standing_refusal(standing);
END $$;
CREATE TRIGGER outbox_guard BEFORE INSERT ON cf.outbox FOR EACH ROW
WHEN ((current_setting('counterfoil.own', true) IS DISTINCT FROM 'on'
    AND (current_setting('row_security') = 'on'
      OR current_setting('check_function_bodies') = 'on'))
  OR NOT has_table_privilege('cf.delivery'::regclass, 'UPDATE'))
EXECUTE FUNCTION cf.outbox_guard();

-- The lane's row is locked until the writer's COMMIT, so places follow commits. Behind any other
-- open command of its lane a new one waits; see outbox_arrived.
CREATE FUNCTION cf.outbox_made() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  own CONSTANT text := coalesce(current_setting('counterfoil.own', true), '');
  place bigint;
  waits boolean := false;
BEGIN
  PERFORM set_config('counterfoil.own', 'on', true);
  IF NEW.ordering_key IS NOT NULL THEN
    -- By the primary key of lane.
    INSERT INTO cf.lane AS l(destination, ordering_key, last)
    VALUES (NEW.destination, NEW.ordering_key, 1)
    ON CONFLICT (destination, ordering_key) DO UPDATE SET last = l.last + 1
    RETURNING l.last INTO place;
    -- By delivery_lane.
    waits := EXISTS (SELECT FROM cf.delivery d
      WHERE d.destination = NEW.destination AND d.ordering_key = NEW.ordering_key);
  END IF;
  INSERT INTO cf.delivery(
    n, destination, state, available_at, turn, expires_at, ordering_key, key_seq)
  VALUES (NEW.n, NEW.destination, 'pending',
    CASE WHEN NOT waits THEN coalesce(NEW.not_before, NEW.recorded_at) END,
    CASE WHEN NOT waits AND place IS NOT NULL THEN 1 END,
    NEW.expires_at, NEW.ordering_key, place);
  PERFORM set_config('counterfoil.own', own, true);
  RETURN NULL;
END $$;
CREATE TRIGGER outbox_made AFTER INSERT ON cf.outbox FOR EACH ROW
WHEN ((current_setting('counterfoil.own', true) IS DISTINCT FROM 'on'
    AND (current_setting('row_security') = 'on'
      OR current_setting('check_function_bodies') = 'on'))
  OR NOT has_table_privilege('cf.delivery'::regclass, 'UPDATE'))
EXECUTE FUNCTION cf.outbox_made();

-- At COMMIT: who was before a command when it came may have ended since, and did not see it. The
-- only one before it is held until COMMIT has ended, a moment, so that its end sees this one; where
-- another holds it, or only parked ones are before it, a note tells a sweep. Behind two there is
-- nothing to do: the nearer one gives the turn on.
CREATE FUNCTION cf.outbox_arrived() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  own CONSTANT text := coalesce(current_setting('counterfoil.own', true), '');
  place bigint;
  before bigint[];
BEGIN
  -- By the primary key of delivery. Who has the turn, or has ended, waits for nobody.
  SELECT d.key_seq INTO place FROM cf.delivery d WHERE d.n = NEW.n AND d.turn IS NULL;
  IF NOT FOUND THEN
    RETURN NULL;
  END IF;
  -- Above READ COMMITTED one sees what stood at the beginning.
  IF current_setting('transaction_isolation') = 'read committed' THEN
    -- By delivery_lane, here and below.
    before := ARRAY(SELECT d.n FROM cf.delivery d
      WHERE d.destination = NEW.destination AND d.ordering_key = NEW.ordering_key
        AND d.key_seq < place AND d.state NOT IN ('dead', 'uncertain', 'conflict')
      ORDER BY d.key_seq DESC LIMIT 2);
    IF cardinality(before) = 2 THEN
      RETURN NULL;
    ELSIF cardinality(before) = 1 THEN
      PERFORM FROM cf.delivery d
      WHERE d.n = before[1] AND d.state NOT IN ('dead', 'uncertain', 'conflict')
      FOR KEY SHARE SKIP LOCKED;
      IF FOUND THEN
        RETURN NULL;
      END IF;
    ELSIF NOT EXISTS (SELECT FROM cf.delivery d
      WHERE d.destination = NEW.destination AND d.ordering_key = NEW.ordering_key
        AND d.key_seq < place) THEN
      PERFORM set_config('counterfoil.own', 'on', true);
      UPDATE cf.delivery d SET turn = 1, available_at = greatest(cf.micros(), NEW.not_before)
      WHERE d.n = NEW.n;
      PERFORM set_config('counterfoil.own', own, true);
      RETURN NULL;
    END IF;
  END IF;
  PERFORM set_config('counterfoil.own', 'on', true);
  INSERT INTO cf.lane_freed(destination, ordering_key) VALUES (NEW.destination, NEW.ordering_key);
  PERFORM set_config('counterfoil.own', own, true);
  RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER outbox_arrived AFTER INSERT ON cf.outbox
DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
WHEN (NEW.ordering_key IS NOT NULL AND (
  (current_setting('counterfoil.own', true) IS DISTINCT FROM 'on'
    AND (current_setting('row_security') = 'on'
      OR current_setting('check_function_bodies') = 'on'))
  OR NOT has_table_privilege('cf.delivery'::regclass, 'UPDATE')))
EXECUTE FUNCTION cf.outbox_arrived();

-- For each row: an upsert that finds nothing to update is an insert.
CREATE TRIGGER outbox_stays BEFORE UPDATE OR DELETE ON cf.outbox FOR EACH ROW
WHEN (current_setting('counterfoil.own', true) IS DISTINCT FROM 'on')
EXECUTE FUNCTION cf.refuse('CF0110 the outbox is append only: a command is not changed; record a '
  'new intent under a new id');
CREATE TRIGGER outbox_no_truncate BEFORE TRUNCATE ON cf.outbox FOR EACH STATEMENT
EXECUTE FUNCTION cf.refuse('CF0110 the outbox is append only: a command is not changed; record a '
  'new intent under a new id');

-- They run as the owner, and believe the row that they are given: nobody may hang them on a table
-- of his own. A trigger that stands fires for all.
REVOKE EXECUTE ON FUNCTION cf.outbox_guard() FROM PUBLIC;
REVOKE EXECUTE ON FUNCTION cf.outbox_made() FROM PUBLIC;
REVOKE EXECUTE ON FUNCTION cf.outbox_arrived() FROM PUBLIC;

UPDATE cf.meta SET version = 2;

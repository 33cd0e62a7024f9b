-- The same rules for less again: fewer triggers in the way of one command.
--
-- A trigger costs each statement that meets it, whether it has anything to do or not. What few
-- commands need now hangs where only those come by.

-- Whether the guards hold for a session; see 0002 for who skips them. It runs as its caller, whose
-- right it asks for, and whatever the caller's search_path says: each name in it has its schema.
CREATE FUNCTION cf.is_guarded() RETURNS boolean LANGUAGE plpgsql STABLE AS $$
BEGIN
  IF pg_catalog.current_setting('counterfoil.own', true) OPERATOR(pg_catalog.=) 'on' THEN
    RETURN NOT pg_catalog.has_table_privilege('cf.delivery'::pg_catalog.regclass, 'UPDATE');
  END IF;
  RETURN NOT (pg_catalog.current_setting('row_security') OPERATOR(pg_catalog.=) 'off'
    AND pg_catalog.current_setting('check_function_bodies') OPERATOR(pg_catalog.=) 'off'
    AND pg_catalog.has_table_privilege('cf.delivery'::pg_catalog.regclass, 'UPDATE'));
END $$;

DROP TRIGGER outbox_guard ON cf.outbox;
CREATE TRIGGER outbox_guard BEFORE INSERT ON cf.outbox FOR EACH ROW
WHEN (cf.is_guarded()) EXECUTE FUNCTION cf.outbox_guard();

DROP TRIGGER outbox_made ON cf.outbox;
CREATE TRIGGER outbox_made AFTER INSERT ON cf.outbox FOR EACH ROW
WHEN (cf.is_guarded()) EXECUTE FUNCTION cf.outbox_made();

-- As outbox_arrived in 0002, for the command of this place: who was before it when it came may have
-- ended since, and did not see it. The only one before it is held until COMMIT has ended, so that
-- its end sees this one; where another holds it, or only parked ones are before it, a note tells a
-- sweep. Behind two there is nothing to do: the nearer one gives the turn on.
CREATE FUNCTION cf.arrived(destination text, ordering_key text, place bigint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
  own CONSTANT text := coalesce(current_setting('counterfoil.own', true), '');
  coming record;
  before bigint[];
  said text;
BEGIN
  -- By delivery_lane, here and below. Who has the turn, or has ended, waits for nobody.
  SELECT d.n, d.turn INTO coming FROM cf.delivery d
  WHERE d.destination = $1 AND d.ordering_key = $2 AND d.key_seq = $3;
  IF NOT FOUND THEN
    said := set_config('counterfoil.arrives', 'early', true);
    RETURN;
  ELSIF coming.turn IS NOT NULL THEN
    RETURN;
  END IF;
  -- Above READ COMMITTED one sees what stood at the beginning.
  IF current_setting('transaction_isolation') = 'read committed' THEN
    before := ARRAY(SELECT d.n FROM cf.delivery d
      WHERE d.destination = $1 AND d.ordering_key = $2
        AND d.key_seq < $3 AND d.state NOT IN ('dead', 'uncertain', 'conflict')
      ORDER BY d.key_seq DESC LIMIT 2);
    IF cardinality(before) = 2 THEN
      RETURN;
    ELSIF cardinality(before) = 1 THEN
      PERFORM FROM cf.delivery d
      WHERE d.n = before[1] AND d.state NOT IN ('dead', 'uncertain', 'conflict')
      FOR KEY SHARE SKIP LOCKED;
      IF FOUND THEN
        RETURN;
      END IF;
    ELSIF NOT EXISTS (SELECT FROM cf.delivery d
      WHERE d.destination = $1 AND d.ordering_key = $2 AND d.key_seq < $3) THEN
      said := set_config('counterfoil.own', 'on', true);
      UPDATE cf.delivery d SET turn = 1, available_at = greatest(cf.micros(),
        (SELECT o.not_before FROM cf.outbox o WHERE o.n = coming.n))
      WHERE d.n = coming.n;
      said := set_config('counterfoil.own', own, true);
      RETURN;
    END IF;
  END IF;
  said := set_config('counterfoil.own', 'on', true);
  INSERT INTO cf.lane_freed(destination, ordering_key) VALUES ($1, $2);
  said := set_config('counterfoil.own', own, true);
END $$;
REVOKE EXECUTE ON FUNCTION cf.arrived(text, text, bigint) FROM PUBLIC;

-- At COMMIT, for each place that outbox_made has drawn. Where constraints are immediate it comes
-- before the delivery does, and says so to outbox_made, which looks then. What a session says
-- beforehand, or afterwards, changes nothing.
CREATE FUNCTION cf.lane_arrived() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM cf.arrived(NEW.destination, NEW.ordering_key, NEW.last);
  RETURN NULL;
END $$;
REVOKE EXECUTE ON FUNCTION cf.lane_arrived() FROM PUBLIC;

DROP TRIGGER outbox_arrived ON cf.outbox;
DROP FUNCTION cf.outbox_arrived();
CREATE CONSTRAINT TRIGGER lane_arrived AFTER INSERT OR UPDATE ON cf.lane
DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
WHEN (current_setting('counterfoil.arrives', true) = 'on')
EXECUTE FUNCTION cf.lane_arrived();

-- As in 0009; what it draws in a lane is looked at again at COMMIT.
CREATE OR REPLACE FUNCTION cf.outbox_made() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  own CONSTANT text := coalesce(current_setting('counterfoil.own', true), '');
  place bigint;
  waits boolean := false;
  is_early boolean := false;
  said text;
BEGIN
  said := set_config('counterfoil.own', 'on', true);
  IF NEW.ordering_key IS NOT NULL THEN
    said := set_config('counterfoil.arrives', 'on', true);
    -- By the primary key of lane.
    INSERT INTO cf.lane AS l(destination, ordering_key, last)
    VALUES (NEW.destination, NEW.ordering_key, 1)
    ON CONFLICT (destination, ordering_key) DO UPDATE SET last = l.last + 1
    RETURNING l.last INTO place;
    is_early := current_setting('counterfoil.arrives') = 'early';
    said := set_config('counterfoil.arrives', '', true);
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
  said := set_config('counterfoil.own', own, true);
  IF is_early THEN
    PERFORM cf.arrived(NEW.destination, NEW.ordering_key, place);
  END IF;
  RETURN NULL;
END $$;

-- As in 0009. Where a dump is restored, a note without a destination, which no lane has, does at
-- COMMIT what a trigger after each statement did.
CREATE OR REPLACE FUNCTION cf.delivery_guard() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF pg_catalog.current_setting('counterfoil.own', true) OPERATOR(pg_catalog.=) 'on' THEN
    RETURN NULL;
  ELSIF cf.is_guarded() THEN
    RAISE check_violation USING MESSAGE = TG_ARGV[0];
  END IF;
  INSERT INTO cf.lane_freed(destination, ordering_key) VALUES ('', '');
  RETURN NULL;
END $$;

DROP TRIGGER delivery_restored ON cf.delivery;
DROP FUNCTION cf.delivery_restored();
CREATE FUNCTION cf.delivery_restored() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  own CONSTANT text := coalesce(current_setting('counterfoil.own', true), '');
BEGIN
  PERFORM cf.end_restored();
  PERFORM set_config('counterfoil.own', 'on', true);
  DELETE FROM cf.lane_freed f WHERE f.destination = '';
  PERFORM set_config('counterfoil.own', own, true);
  RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER delivery_restored AFTER INSERT ON cf.lane_freed
DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
WHEN (NEW.destination = '') EXECUTE FUNCTION cf.delivery_restored();

DROP FUNCTION cf.is_trusted();

UPDATE cf.meta SET version = 10;

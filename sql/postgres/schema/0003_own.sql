-- The tables that strangers only read: INSERT, UPDATE, DELETE and TRUNCATE are refused, whether or
-- not they meet a row.
--
-- For each statement, so that our own writes, which are many rows a statement, ask once. A session
-- that restores a dump (see 0002) may insert: rows come as they were, in any order of tables. No
-- role but the relay's and those above it has any right on these tables in the first place; what
-- is refused here is the program that connects as the owner.

CREATE TRIGGER delivery_no_insert BEFORE INSERT ON cf.delivery FOR EACH STATEMENT
WHEN (current_setting('counterfoil.own', true) IS DISTINCT FROM 'on'
  AND (current_setting('row_security') = 'on' OR current_setting('check_function_bodies') = 'on'))
EXECUTE FUNCTION cf.refuse('CF0120 deliveries are Counterfoil''s own: insert a command into '
  'cf.outbox, report through cf.report');
CREATE TRIGGER delivery_stays BEFORE UPDATE OR DELETE ON cf.delivery FOR EACH STATEMENT
WHEN (current_setting('counterfoil.own', true) IS DISTINCT FROM 'on')
EXECUTE FUNCTION cf.refuse('CF0120 deliveries are Counterfoil''s own: insert a command into '
  'cf.outbox, report through cf.report');
CREATE TRIGGER delivery_no_truncate BEFORE TRUNCATE ON cf.delivery FOR EACH STATEMENT
EXECUTE FUNCTION cf.refuse('CF0120 deliveries are Counterfoil''s own: insert a command into '
  'cf.outbox, report through cf.report');

CREATE TRIGGER receipt_no_insert BEFORE INSERT ON cf.receipt FOR EACH STATEMENT
WHEN (current_setting('counterfoil.own', true) IS DISTINCT FROM 'on'
  AND (current_setting('row_security') = 'on' OR current_setting('check_function_bodies') = 'on'))
EXECUTE FUNCTION cf.refuse('CF0121 receipts are Counterfoil''s own and never changed: report '
  'through cf.report');
CREATE TRIGGER receipt_stays BEFORE UPDATE OR DELETE ON cf.receipt FOR EACH STATEMENT
WHEN (current_setting('counterfoil.own', true) IS DISTINCT FROM 'on')
EXECUTE FUNCTION cf.refuse('CF0121 receipts are Counterfoil''s own and never changed: report '
  'through cf.report');
CREATE TRIGGER receipt_no_truncate BEFORE TRUNCATE ON cf.receipt FOR EACH STATEMENT
EXECUTE FUNCTION cf.refuse('CF0121 receipts are Counterfoil''s own and never changed: report '
  'through cf.report');

CREATE TRIGGER contradiction_no_insert BEFORE INSERT ON cf.contradiction FOR EACH STATEMENT
WHEN (current_setting('counterfoil.own', true) IS DISTINCT FROM 'on'
  AND (current_setting('row_security') = 'on' OR current_setting('check_function_bodies') = 'on'))
EXECUTE FUNCTION cf.refuse('CF0122 contradictions are Counterfoil''s own and never changed: '
  'report through cf.report');
CREATE TRIGGER contradiction_stays BEFORE UPDATE OR DELETE ON cf.contradiction FOR EACH STATEMENT
WHEN (current_setting('counterfoil.own', true) IS DISTINCT FROM 'on')
EXECUTE FUNCTION cf.refuse('CF0122 contradictions are Counterfoil''s own and never changed: '
  'report through cf.report');
CREATE TRIGGER contradiction_no_truncate BEFORE TRUNCATE ON cf.contradiction FOR EACH STATEMENT
EXECUTE FUNCTION cf.refuse('CF0122 contradictions are Counterfoil''s own and never changed: '
  'report through cf.report');

CREATE TRIGGER event_no_insert BEFORE INSERT ON cf.event FOR EACH STATEMENT
WHEN (current_setting('counterfoil.own', true) IS DISTINCT FROM 'on'
  AND (current_setting('row_security') = 'on' OR current_setting('check_function_bodies') = 'on'))
EXECUTE FUNCTION cf.refuse('CF0111 events are written by the library and never changed: append a '
  'decision through it');
CREATE TRIGGER event_stays BEFORE UPDATE OR DELETE ON cf.event FOR EACH STATEMENT
WHEN (current_setting('counterfoil.own', true) IS DISTINCT FROM 'on')
EXECUTE FUNCTION cf.refuse('CF0111 events are written by the library and never changed: append a '
  'decision through it');
CREATE TRIGGER event_no_truncate BEFORE TRUNCATE ON cf.event FOR EACH STATEMENT
EXECUTE FUNCTION cf.refuse('CF0111 events are written by the library and never changed: append a '
  'decision through it');

CREATE TRIGGER attempt_no_insert BEFORE INSERT ON cf.attempt FOR EACH STATEMENT
WHEN (current_setting('counterfoil.own', true) IS DISTINCT FROM 'on'
  AND (current_setting('row_security') = 'on' OR current_setting('check_function_bodies') = 'on'))
EXECUTE FUNCTION cf.refuse('CF0123 attempts are Counterfoil''s own: see counterfoil show');
CREATE TRIGGER attempt_stays BEFORE UPDATE OR DELETE ON cf.attempt FOR EACH STATEMENT
WHEN (current_setting('counterfoil.own', true) IS DISTINCT FROM 'on')
EXECUTE FUNCTION cf.refuse('CF0123 attempts are Counterfoil''s own: see counterfoil show');
CREATE TRIGGER attempt_no_truncate BEFORE TRUNCATE ON cf.attempt FOR EACH STATEMENT
EXECUTE FUNCTION cf.refuse('CF0123 attempts are Counterfoil''s own: see counterfoil show');

CREATE TRIGGER stream_no_insert BEFORE INSERT ON cf.stream FOR EACH STATEMENT
WHEN (current_setting('counterfoil.own', true) IS DISTINCT FROM 'on'
  AND (current_setting('row_security') = 'on' OR current_setting('check_function_bodies') = 'on'))
EXECUTE FUNCTION cf.refuse('CF0124 stream heads are Counterfoil''s own: append through the '
  'library');
CREATE TRIGGER stream_stays BEFORE UPDATE OR DELETE ON cf.stream FOR EACH STATEMENT
WHEN (current_setting('counterfoil.own', true) IS DISTINCT FROM 'on')
EXECUTE FUNCTION cf.refuse('CF0124 stream heads are Counterfoil''s own: append through the '
  'library');
CREATE TRIGGER stream_no_truncate BEFORE TRUNCATE ON cf.stream FOR EACH STATEMENT
EXECUTE FUNCTION cf.refuse('CF0124 stream heads are Counterfoil''s own: append through the '
  'library');

CREATE TRIGGER snapshot_no_insert BEFORE INSERT ON cf.snapshot FOR EACH STATEMENT
WHEN (current_setting('counterfoil.own', true) IS DISTINCT FROM 'on'
  AND (current_setting('row_security') = 'on' OR current_setting('check_function_bodies') = 'on'))
EXECUTE FUNCTION cf.refuse('CF0125 snapshots are Counterfoil''s own: they are made again from the '
  'events');
CREATE TRIGGER snapshot_stays BEFORE UPDATE OR DELETE ON cf.snapshot FOR EACH STATEMENT
WHEN (current_setting('counterfoil.own', true) IS DISTINCT FROM 'on')
EXECUTE FUNCTION cf.refuse('CF0125 snapshots are Counterfoil''s own: they are made again from the '
  'events');
CREATE TRIGGER snapshot_no_truncate BEFORE TRUNCATE ON cf.snapshot FOR EACH STATEMENT
EXECUTE FUNCTION cf.refuse('CF0125 snapshots are Counterfoil''s own: they are made again from the '
  'events');

CREATE TRIGGER lane_no_insert BEFORE INSERT ON cf.lane FOR EACH STATEMENT
WHEN (current_setting('counterfoil.own', true) IS DISTINCT FROM 'on'
  AND (current_setting('row_security') = 'on' OR current_setting('check_function_bodies') = 'on'))
EXECUTE FUNCTION cf.refuse('CF0126 lanes are Counterfoil''s own: order follows from commits');
CREATE TRIGGER lane_stays BEFORE UPDATE OR DELETE ON cf.lane FOR EACH STATEMENT
WHEN (current_setting('counterfoil.own', true) IS DISTINCT FROM 'on')
EXECUTE FUNCTION cf.refuse('CF0126 lanes are Counterfoil''s own: order follows from commits');
CREATE TRIGGER lane_no_truncate BEFORE TRUNCATE ON cf.lane FOR EACH STATEMENT
EXECUTE FUNCTION cf.refuse('CF0126 lanes are Counterfoil''s own: order follows from commits');

CREATE TRIGGER lane_freed_no_insert BEFORE INSERT ON cf.lane_freed FOR EACH STATEMENT
WHEN (current_setting('counterfoil.own', true) IS DISTINCT FROM 'on'
  AND (current_setting('row_security') = 'on' OR current_setting('check_function_bodies') = 'on'))
EXECUTE FUNCTION cf.refuse('CF0126 lanes are Counterfoil''s own: order follows from commits');
CREATE TRIGGER lane_freed_stays BEFORE UPDATE OR DELETE ON cf.lane_freed FOR EACH STATEMENT
WHEN (current_setting('counterfoil.own', true) IS DISTINCT FROM 'on')
EXECUTE FUNCTION cf.refuse('CF0126 lanes are Counterfoil''s own: order follows from commits');
CREATE TRIGGER lane_freed_no_truncate BEFORE TRUNCATE ON cf.lane_freed FOR EACH STATEMENT
EXECUTE FUNCTION cf.refuse('CF0126 lanes are Counterfoil''s own: order follows from commits');

CREATE TRIGGER destination_no_insert BEFORE INSERT ON cf.destination FOR EACH STATEMENT
WHEN (current_setting('counterfoil.own', true) IS DISTINCT FROM 'on'
  AND (current_setting('row_security') = 'on' OR current_setting('check_function_bodies') = 'on'))
EXECUTE FUNCTION cf.refuse('CF0127 destinations are Counterfoil''s own: change the relay''s '
  'configuration');
CREATE TRIGGER destination_stays BEFORE UPDATE OR DELETE ON cf.destination FOR EACH STATEMENT
WHEN (current_setting('counterfoil.own', true) IS DISTINCT FROM 'on')
EXECUTE FUNCTION cf.refuse('CF0127 destinations are Counterfoil''s own: change the relay''s '
  'configuration');
CREATE TRIGGER destination_no_truncate BEFORE TRUNCATE ON cf.destination FOR EACH STATEMENT
EXECUTE FUNCTION cf.refuse('CF0127 destinations are Counterfoil''s own: change the relay''s '
  'configuration');

CREATE TRIGGER tally_no_insert BEFORE INSERT ON cf.tally FOR EACH STATEMENT
WHEN (current_setting('counterfoil.own', true) IS DISTINCT FROM 'on'
  AND (current_setting('row_security') = 'on' OR current_setting('check_function_bodies') = 'on'))
EXECUTE FUNCTION cf.refuse('CF0128 tallies are Counterfoil''s own: counts follow from receipts; '
  'see counterfoil status');
CREATE TRIGGER tally_stays BEFORE UPDATE OR DELETE ON cf.tally FOR EACH STATEMENT
WHEN (current_setting('counterfoil.own', true) IS DISTINCT FROM 'on')
EXECUTE FUNCTION cf.refuse('CF0128 tallies are Counterfoil''s own: counts follow from receipts; '
  'see counterfoil status');
CREATE TRIGGER tally_no_truncate BEFORE TRUNCATE ON cf.tally FOR EACH STATEMENT
EXECUTE FUNCTION cf.refuse('CF0128 tallies are Counterfoil''s own: counts follow from receipts; '
  'see counterfoil status');

CREATE TRIGGER archived_no_insert BEFORE INSERT ON cf.archived FOR EACH STATEMENT
WHEN (current_setting('counterfoil.own', true) IS DISTINCT FROM 'on'
  AND (current_setting('row_security') = 'on' OR current_setting('check_function_bodies') = 'on'))
EXECUTE FUNCTION cf.refuse('CF0129 tombstones are Counterfoil''s own: they stay for ever');
CREATE TRIGGER archived_stays BEFORE UPDATE OR DELETE ON cf.archived FOR EACH STATEMENT
WHEN (current_setting('counterfoil.own', true) IS DISTINCT FROM 'on')
EXECUTE FUNCTION cf.refuse('CF0129 tombstones are Counterfoil''s own: they stay for ever');
CREATE TRIGGER archived_no_truncate BEFORE TRUNCATE ON cf.archived FOR EACH STATEMENT
EXECUTE FUNCTION cf.refuse('CF0129 tombstones are Counterfoil''s own: they stay for ever');

CREATE TRIGGER operator_action_no_insert BEFORE INSERT ON cf.operator_action FOR EACH STATEMENT
WHEN (current_setting('counterfoil.own', true) IS DISTINCT FROM 'on'
  AND (current_setting('row_security') = 'on' OR current_setting('check_function_bodies') = 'on'))
EXECUTE FUNCTION cf.refuse('CF0130 operator actions are Counterfoil''s own: each verb of the '
  'command line writes its own');
CREATE TRIGGER operator_action_stays BEFORE UPDATE OR DELETE ON cf.operator_action
FOR EACH STATEMENT
WHEN (current_setting('counterfoil.own', true) IS DISTINCT FROM 'on')
EXECUTE FUNCTION cf.refuse('CF0130 operator actions are Counterfoil''s own: each verb of the '
  'command line writes its own');
CREATE TRIGGER operator_action_no_truncate BEFORE TRUNCATE ON cf.operator_action FOR EACH STATEMENT
EXECUTE FUNCTION cf.refuse('CF0130 operator actions are Counterfoil''s own: each verb of the '
  'command line writes its own');

CREATE TRIGGER meta_no_insert BEFORE INSERT ON cf.meta FOR EACH STATEMENT
WHEN (current_setting('counterfoil.own', true) IS DISTINCT FROM 'on'
  AND (current_setting('row_security') = 'on' OR current_setting('check_function_bodies') = 'on'))
EXECUTE FUNCTION cf.refuse('CF0131 the meta row is Counterfoil''s own: use counterfoil init');
CREATE TRIGGER meta_stays BEFORE UPDATE OR DELETE ON cf.meta FOR EACH STATEMENT
WHEN (current_setting('counterfoil.own', true) IS DISTINCT FROM 'on')
EXECUTE FUNCTION cf.refuse('CF0131 the meta row is Counterfoil''s own: use counterfoil init');
CREATE TRIGGER meta_no_truncate BEFORE TRUNCATE ON cf.meta FOR EACH STATEMENT
EXECUTE FUNCTION cf.refuse('CF0131 the meta row is Counterfoil''s own: use counterfoil init');

-- A restored dump brings its meta row to where `init` has made one: the store keeps its name and
-- its id. A dump of another version is refused.
CREATE FUNCTION cf.meta_restored() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  own CONSTANT text := coalesce(current_setting('counterfoil.own', true), '');
  stands int;
BEGIN
  SELECT version INTO stands FROM cf.meta WHERE k = 1;
  IF NOT FOUND THEN
    RETURN NEW;
  END IF;
  IF stands IS DISTINCT FROM NEW.version THEN
    RAISE check_violation USING MESSAGE = 'CF0131 the meta row is Counterfoil''s own: use '
      'counterfoil init';
  END IF;
  PERFORM set_config('counterfoil.own', 'on', true);
  UPDATE cf.meta SET source = NEW.source, store = NEW.store, clock = NEW.clock WHERE k = 1;
  PERFORM set_config('counterfoil.own', own, true);
  RETURN NULL;
END $$;
CREATE TRIGGER meta_restored BEFORE INSERT ON cf.meta FOR EACH ROW
WHEN (current_setting('row_security') = 'off' AND current_setting('check_function_bodies') = 'off')
EXECUTE FUNCTION cf.meta_restored();

-- After a restored dump no delivery stands whose round has its receipt, also where the two tables
-- were dumped at two moments. Counts are restored as they were and not made again.
CREATE FUNCTION cf.restored_ends() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  own CONSTANT text := coalesce(current_setting('counterfoil.own', true), '');
BEGIN
  PERFORM set_config('counterfoil.own', 'on', true);
  DELETE FROM cf.delivery d
  WHERE EXISTS (SELECT FROM cf.receipt r WHERE r.n = d.n AND r.round >= d.round);
  PERFORM set_config('counterfoil.own', own, true);
  RETURN NULL;
END $$;
CREATE TRIGGER delivery_restored AFTER INSERT ON cf.delivery FOR EACH STATEMENT
WHEN (current_setting('row_security') = 'off' AND current_setting('check_function_bodies') = 'off')
EXECUTE FUNCTION cf.restored_ends();
CREATE TRIGGER receipt_restored AFTER INSERT ON cf.receipt FOR EACH STATEMENT
WHEN (current_setting('row_security') = 'off' AND current_setting('check_function_bodies') = 'off')
EXECUTE FUNCTION cf.restored_ends();

UPDATE cf.meta SET version = 3;

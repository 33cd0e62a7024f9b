-- The same rules for less: what one insert into the outbox costs the server.
--
-- A WHEN is read from its text anew by each statement, and this one was long; on tables that a
-- single command meets it is now a call. Functions on the way of each command ask in expressions,
-- not in statements: no executor is started for those.

-- Whether the rules are kept elsewhere: by Counterfoil's own session, or because a dump is
-- restored; see 0002. It runs as its caller, whose right it asks for, and whatever the caller's
-- search_path says: each name in it has its schema.
CREATE FUNCTION cf.is_trusted() RETURNS boolean LANGUAGE plpgsql STABLE AS $$
BEGIN
  IF pg_catalog.current_setting('counterfoil.own', true) OPERATOR(pg_catalog.=) 'on' THEN
    RETURN pg_catalog.has_table_privilege('cf.delivery'::pg_catalog.regclass, 'UPDATE');
  END IF;
  RETURN pg_catalog.current_setting('row_security') OPERATOR(pg_catalog.=) 'off'
    AND pg_catalog.current_setting('check_function_bodies') OPERATOR(pg_catalog.=) 'off'
    AND pg_catalog.has_table_privilege('cf.delivery'::pg_catalog.regclass, 'UPDATE');
END $$;

DROP TRIGGER outbox_guard ON cf.outbox;
CREATE TRIGGER outbox_guard BEFORE INSERT ON cf.outbox FOR EACH ROW
WHEN (NOT cf.is_trusted()) EXECUTE FUNCTION cf.outbox_guard();

DROP TRIGGER outbox_made ON cf.outbox;
CREATE TRIGGER outbox_made AFTER INSERT ON cf.outbox FOR EACH ROW
WHEN (NOT cf.is_trusted()) EXECUTE FUNCTION cf.outbox_made();

DROP TRIGGER outbox_arrived ON cf.outbox;
CREATE CONSTRAINT TRIGGER outbox_arrived AFTER INSERT ON cf.outbox
DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
WHEN (NEW.ordering_key IS NOT NULL AND NOT cf.is_trusted())
EXECUTE FUNCTION cf.outbox_arrived();

-- As in 0003, without a WHEN: to call is cheaper than to read one. Whoever may not UPDATE
-- deliveries may not insert one either.
CREATE FUNCTION cf.delivery_guard() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF pg_catalog.current_setting('counterfoil.own', true) OPERATOR(pg_catalog.=) 'on'
    OR cf.is_trusted() THEN
    RETURN NULL;
  END IF;
  RAISE check_violation USING MESSAGE = TG_ARGV[0];
END $$;
DROP TRIGGER delivery_no_insert ON cf.delivery;
CREATE TRIGGER delivery_no_insert BEFORE INSERT ON cf.delivery FOR EACH STATEMENT
EXECUTE FUNCTION cf.delivery_guard('CF0120 deliveries are Counterfoil''s own: insert a command '
  'into cf.outbox, report through cf.report');

-- As in 0003, without a WHEN.
CREATE FUNCTION cf.end_restored() RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  own CONSTANT text := coalesce(current_setting('counterfoil.own', true), '');
BEGIN
  PERFORM set_config('counterfoil.own', 'on', true);
  DELETE FROM cf.delivery d
  WHERE EXISTS (SELECT FROM cf.receipt r WHERE r.n = d.n AND r.round >= d.round);
  PERFORM set_config('counterfoil.own', own, true);
END $$;
CREATE FUNCTION cf.delivery_restored() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF pg_catalog.current_setting('row_security') OPERATOR(pg_catalog.=) 'off'
    AND pg_catalog.current_setting('check_function_bodies') OPERATOR(pg_catalog.=) 'off' THEN
    PERFORM cf.end_restored();
  END IF;
  RETURN NULL;
END $$;
DROP TRIGGER delivery_restored ON cf.delivery;
CREATE TRIGGER delivery_restored AFTER INSERT ON cf.delivery FOR EACH STATEMENT
EXECUTE FUNCTION cf.delivery_restored();

-- As in 0002, with expressions for what was a statement each.
CREATE OR REPLACE FUNCTION cf.outbox_made() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  own CONSTANT text := coalesce(current_setting('counterfoil.own', true), '');
  place bigint;
  waits boolean := false;
  said text;
BEGIN
  said := set_config('counterfoil.own', 'on', true);
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
  said := set_config('counterfoil.own', own, true);
  RETURN NULL;
END $$;

-- What record() says about an id that stands: repeated, conflict or erased.
CREATE FUNCTION cf.recorded_before(
  command_id text, destination text, kind text, ordering_key text, body bytea, core_digest text)
RETURNS text
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  standing CONSTANT text := cf.standing($1, $2, $3, $4, $5, $6);
BEGIN
  RETURN CASE WHEN standing IN ('equal', 'archived equal') THEN 'repeated'
    WHEN standing = 'erased' THEN 'erased' ELSE 'conflict' END;
END $$;
REVOKE EXECUTE ON FUNCTION cf.recorded_before(text, text, text, text, bytea, text) FROM PUBLIC;

-- record() by way of the triggers: for what has an ordering key, breaks a rule, or comes above READ
-- COMMITTED, where one sees what stood at the beginning. Nobody restores a dump here.
CREATE FUNCTION cf.record_by_triggers(
  command_id text, destination text, kind text, body bytea, ordering_key text, content_type text,
  headers text, not_before bigint, expires_at bigint, core_digest text)
RETURNS text
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET check_function_bodies = on AS $$
#variable_conflict use_column
DECLARE
  own CONSTANT text := coalesce(current_setting('counterfoil.own', true), '');
  compare CONSTANT text := coalesce(current_setting('counterfoil.compare', true), '');
  inserted bigint;
BEGIN
  PERFORM set_config('counterfoil.own', '', true);
  PERFORM set_config('counterfoil.compare', 'caller', true);
  INSERT INTO cf.outbox(command_id, destination, kind, body, ordering_key, content_type, headers,
    not_before, expires_at, core_digest)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
  ON CONFLICT DO NOTHING;
  GET DIAGNOSTICS inserted = ROW_COUNT;
  PERFORM set_config('counterfoil.compare', compare, true);
  PERFORM set_config('counterfoil.own', own, true);
  RETURN CASE WHEN inserted = 1 THEN 'recorded'
    ELSE cf.recorded_before($1, $2, $3, $5, $4, $10) END;
END $$;
REVOKE EXECUTE ON FUNCTION
  cf.record_by_triggers(text, text, text, bytea, text, text, text, bigint, bigint, text)
FROM PUBLIC;

-- As in 0007, without the triggers for a plain command, whose rules it keeps by itself:
-- recorded, repeated, conflict or erased. The last two wrote nothing.
--
-- A twin in flight is waited for at the unique index. The archive moves an id from the outbox in
-- one transaction: whoever could insert the id, after that, finds it in the archive by a later
-- look, which each statement has at READ COMMITTED, and takes its row back.
CREATE OR REPLACE FUNCTION cf.record(
  command_id text, destination text, kind text, body bytea, ordering_key text, content_type text,
  headers text, not_before bigint, expires_at bigint, core_digest text)
RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
  own CONSTANT text := coalesce(current_setting('counterfoil.own', true), '');
  said text;
  made bigint;
  due_at bigint;
BEGIN
  -- The rules of outbox_refusal, which finds the words for the one that is broken; in few
  -- operators, since each transaction makes them ready anew.
  said := $1 || $2 || $3 || $6;
  IF (octet_length(said) <= 255 AND octet_length($4) <= 16777216
    AND least(octet_length($1), octet_length($2), octet_length($3), octet_length($6)) > 0
    AND said COLLATE "C" !~ '[\x01-\x1f\x7f]'
    AND current_setting('transaction_isolation') = 'read committed') IS NOT TRUE THEN
    RETURN cf.record_by_triggers($1, $2, $3, $4, $5, $6, $7, $8, $9, $10);
  ELSIF num_nonnulls($5, $7, $8, $9, $10) > 0 THEN
    IF $5 IS NOT NULL OR octet_length($7) > 65536 OR NOT cf.is_headers($7)
      OR $8 NOT BETWEEN 1000000000000000 AND 9999999999999999
      OR $9 NOT BETWEEN 1000000000000000 AND 9999999999999999
      OR $10 !~ '^[0-9a-f]{64}$' THEN
      RETURN cf.record_by_triggers($1, $2, $3, $4, $5, $6, $7, $8, $9, $10);
    END IF;
  END IF;
  said := set_config('counterfoil.own', 'on', true);
  -- By outbox_command_id_key.
  INSERT INTO cf.outbox(command_id, destination, kind, body, content_type, headers, not_before,
    expires_at, core_digest)
  VALUES ($1, $2, $3, $4, $6, $7, $8, $9, $10)
  ON CONFLICT (command_id) DO NOTHING
  RETURNING n, coalesce(not_before, recorded_at) INTO made, due_at;
  IF made IS NOT NULL THEN
    -- By archived_pkey.
    INSERT INTO cf.delivery(n, destination, state, available_at, expires_at)
    SELECT made, $2, 'pending', due_at, $9
    WHERE NOT EXISTS (SELECT FROM cf.archived a WHERE a.command_id = $1);
    IF FOUND THEN
      said := set_config('counterfoil.own', own, true);
      RETURN 'recorded';
    END IF;
    DELETE FROM cf.outbox o WHERE o.n = made;
  END IF;
  said := set_config('counterfoil.own', own, true);
  RETURN cf.recorded_before($1, $2, $3, $5, $4, $10);
END $$;
UPDATE cf.meta SET version = 9;

-- What any program may call: enqueue, complete, reject.
--
-- The body may be json, jsonb, text or bytea; its bytes are what travels. A jsonb is written as
-- the server prints it, so keys are sorted and spaces are gone: give json or text where the bytes
-- matter. They run with the caller's own rights.

-- Microseconds of a time; what is infinite becomes a time that the guard refuses.
CREATE FUNCTION cf.micros_of(at timestamptz) RETURNS bigint LANGUAGE sql STABLE AS $$
  SELECT CASE WHEN isfinite(at) THEN (extract(epoch FROM at) * 1000000)::bigint
    WHEN at IS NOT NULL THEN 0 END
$$;

-- recorded, or repeated where the same intent stands, be it open, ended or archived; other content
-- raises. A twin in flight is waited for; the second look, a statement of its own, sees it.
CREATE FUNCTION cf.enqueue(
  command_id text, destination text, kind text, body bytea,
  ordering_key text DEFAULT NULL, content_type text DEFAULT 'application/json',
  headers jsonb DEFAULT NULL, not_before timestamptz DEFAULT NULL,
  expires_at timestamptz DEFAULT NULL, core_digest text DEFAULT NULL)
RETURNS text
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
  own CONSTANT text := coalesce(current_setting('counterfoil.own', true), '');
  compare CONSTANT text := coalesce(current_setting('counterfoil.compare', true), '');
  inserted bigint;
  standing text;
BEGIN
  -- The triggers make the delivery, also for a caller that is our own.
  IF own = 'on' THEN
    PERFORM set_config('counterfoil.own', '', true);
  END IF;
  PERFORM set_config('counterfoil.compare', 'caller', true);
  INSERT INTO cf.outbox(command_id, destination, kind, body, ordering_key, content_type, headers,
    not_before, expires_at, core_digest)
  VALUES ($1, $2, $3, $4, $5, $6, $7::text, cf.micros_of($8), cf.micros_of($9), $10)
  ON CONFLICT DO NOTHING;
  GET DIAGNOSTICS inserted = ROW_COUNT;
  PERFORM set_config('counterfoil.compare', compare, true);
  IF own = 'on' THEN
    PERFORM set_config('counterfoil.own', own, true);
  END IF;
  IF inserted = 1 THEN
    RETURN 'recorded';
  END IF;
  standing := cf.standing($1, $2, $3, $5, $4, $10);
  IF standing IN ('equal', 'archived equal') THEN
    RETURN 'repeated';
  END IF;
  RAISE unique_violation USING MESSAGE = CASE WHEN standing = 'archived other'
    THEN cf.standing_refusal('other') ELSE cf.standing_refusal(standing) END;
END $$;

CREATE FUNCTION cf.enqueue(
  command_id text, destination text, kind text, body text,
  ordering_key text DEFAULT NULL, content_type text DEFAULT 'application/json',
  headers jsonb DEFAULT NULL, not_before timestamptz DEFAULT NULL,
  expires_at timestamptz DEFAULT NULL, core_digest text DEFAULT NULL)
RETURNS text LANGUAGE sql VOLATILE AS $$
  SELECT cf.enqueue($1, $2, $3, convert_to($4, 'UTF8'), $5, $6, $7, $8, $9, $10)
$$;

CREATE FUNCTION cf.enqueue(
  command_id text, destination text, kind text, body json,
  ordering_key text DEFAULT NULL, content_type text DEFAULT 'application/json',
  headers jsonb DEFAULT NULL, not_before timestamptz DEFAULT NULL,
  expires_at timestamptz DEFAULT NULL, core_digest text DEFAULT NULL)
RETURNS text LANGUAGE sql VOLATILE AS $$
  SELECT cf.enqueue($1, $2, $3, convert_to($4::text, 'UTF8'), $5, $6, $7, $8, $9, $10)
$$;

CREATE FUNCTION cf.enqueue(
  command_id text, destination text, kind text, body jsonb,
  ordering_key text DEFAULT NULL, content_type text DEFAULT 'application/json',
  headers jsonb DEFAULT NULL, not_before timestamptz DEFAULT NULL,
  expires_at timestamptz DEFAULT NULL, core_digest text DEFAULT NULL)
RETURNS text LANGUAGE sql VOLATILE AS $$
  SELECT cf.enqueue($1, $2, $3, convert_to($4::text, 'UTF8'), $5, $6, $7, $8, $9, $10)
$$;

-- Tells relays that listen to look now, at COMMIT; once a transaction is enough, however many
-- commands it wrote. Relays that do not listen find them by polling.
CREATE FUNCTION cf.wake() RETURNS void LANGUAGE sql VOLATILE AS $$
  SELECT pg_catalog.pg_notify(s.nspname || '_wake', '')
  FROM pg_catalog.pg_proc p JOIN pg_catalog.pg_namespace s ON s.oid = p.pronamespace
  WHERE p.oid = 'cf.micros()'::pg_catalog.regprocedure
$$;

-- A worker reports that the command has its effect: recorded, repeated, or contradiction where
-- another outcome stands. With the token of Counterfoil-Token it raises unless that is the newest
-- of an open command.
CREATE FUNCTION cf.complete(
  command_id text, result bytea DEFAULT NULL, evidence text DEFAULT NULL,
  token bigint DEFAULT NULL)
RETURNS text
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT cf.reported($1, 'completed', $2, $3, $4)
$$;
CREATE FUNCTION cf.complete(
  command_id text, result text, evidence text DEFAULT NULL, token bigint DEFAULT NULL)
RETURNS text LANGUAGE sql VOLATILE AS $$
  SELECT cf.complete($1, convert_to($2, 'UTF8'), $3, $4)
$$;
CREATE FUNCTION cf.complete(
  command_id text, result json, evidence text DEFAULT NULL, token bigint DEFAULT NULL)
RETURNS text LANGUAGE sql VOLATILE AS $$
  SELECT cf.complete($1, convert_to($2::text, 'UTF8'), $3, $4)
$$;
CREATE FUNCTION cf.complete(
  command_id text, result jsonb, evidence text DEFAULT NULL, token bigint DEFAULT NULL)
RETURNS text LANGUAGE sql VOLATILE AS $$
  SELECT cf.complete($1, convert_to($2::text, 'UTF8'), $3, $4)
$$;

-- A worker reports that it refuses the command; else the same.
CREATE FUNCTION cf.reject(
  command_id text, result bytea DEFAULT NULL, evidence text DEFAULT NULL,
  token bigint DEFAULT NULL)
RETURNS text
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT cf.reported($1, 'rejected', $2, $3, $4)
$$;
CREATE FUNCTION cf.reject(
  command_id text, result text, evidence text DEFAULT NULL, token bigint DEFAULT NULL)
RETURNS text LANGUAGE sql VOLATILE AS $$
  SELECT cf.reject($1, convert_to($2, 'UTF8'), $3, $4)
$$;
CREATE FUNCTION cf.reject(
  command_id text, result json, evidence text DEFAULT NULL, token bigint DEFAULT NULL)
RETURNS text LANGUAGE sql VOLATILE AS $$
  SELECT cf.reject($1, convert_to($2::text, 'UTF8'), $3, $4)
$$;
CREATE FUNCTION cf.reject(
  command_id text, result jsonb, evidence text DEFAULT NULL, token bigint DEFAULT NULL)
RETURNS text LANGUAGE sql VOLATILE AS $$
  SELECT cf.reject($1, convert_to($2::text, 'UTF8'), $3, $4)
$$;

-- To report is a worker's right, not everybody's. The forms above call this one.
REVOKE EXECUTE ON FUNCTION cf.complete(text, bytea, text, bigint) FROM PUBLIC;
REVOKE EXECUTE ON FUNCTION cf.reject(text, bytea, text, bigint) FROM PUBLIC;

UPDATE cf.meta SET version = 6;

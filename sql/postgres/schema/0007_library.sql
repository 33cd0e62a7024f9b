-- What the library calls inside a user's own transaction: like enqueue(), but times are
-- microseconds, headers are text, and other content is told by a word, so that the transaction
-- stays usable.
--
-- It is a guard by itself: it keeps the rules of outbox_guard and makes what outbox_made makes, in
-- one statement, which is cheaper than the two triggers. So it runs as the owner, and only writers
-- may execute it. A command with an ordering key goes through the triggers.

-- recorded, repeated, conflict or erased. The last two wrote nothing.
CREATE FUNCTION cf.record(
  command_id text, destination text, kind text, body bytea, ordering_key text, content_type text,
  headers text, not_before bigint, expires_at bigint, core_digest text)
RETURNS text
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
-- Nobody restores a dump here. What is Counterfoil's own is set in the body and set back: only a
-- superuser could make a function that carries a setting which the server does not know.
SET check_function_bodies = on AS $$
#variable_conflict use_column
DECLARE
  own CONSTANT text := coalesce(current_setting('counterfoil.own', true), '');
  compare CONSTANT text := coalesce(current_setting('counterfoil.compare', true), '');
  refusal text;
  standing text;
  inserted bigint;
BEGIN
  IF $5 IS NULL THEN
    -- In the order of the columns of outbox; a time that passes stands for recorded_at.
    refusal := cf.outbox_refusal(ROW(0, NULL, $8, $9, 1000000000000000, NULL, NULL, $1, NULL,
      $2, $3, NULL, $6, $7, $10, $4)::cf.outbox);
    IF refusal IS NOT NULL THEN
      RAISE check_violation USING MESSAGE = refusal;
    END IF;
    PERFORM set_config('counterfoil.own', 'on', true);
    -- One look at both, since the archive moves rows from one to the other. A twin in flight is
    -- waited for at the unique index.
    WITH made AS (
      INSERT INTO cf.outbox(command_id, destination, kind, body, content_type, headers, not_before,
        expires_at, core_digest)
      SELECT $1, $2, $3, $4, $6, $7, $8, $9, $10
      WHERE NOT EXISTS (SELECT FROM cf.outbox o WHERE o.command_id = $1
        UNION ALL SELECT FROM cf.archived a WHERE a.command_id = $1)
      ON CONFLICT DO NOTHING
      RETURNING n, destination, coalesce(not_before, recorded_at) AS due_at, expires_at)
    INSERT INTO cf.delivery(n, destination, state, available_at, expires_at)
    SELECT n, destination, 'pending', due_at, expires_at FROM made;
    GET DIAGNOSTICS inserted = ROW_COUNT;
  ELSE
    PERFORM set_config('counterfoil.own', '', true);
    PERFORM set_config('counterfoil.compare', 'caller', true);
    INSERT INTO cf.outbox(command_id, destination, kind, body, ordering_key, content_type, headers,
      not_before, expires_at, core_digest)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
    ON CONFLICT DO NOTHING;
    GET DIAGNOSTICS inserted = ROW_COUNT;
    PERFORM set_config('counterfoil.compare', compare, true);
  END IF;
  PERFORM set_config('counterfoil.own', own, true);
  IF inserted = 1 THEN
    RETURN 'recorded';
  END IF;
  -- A twin in flight was waited for; this look, a statement of its own, sees it.
  standing := cf.standing($1, $2, $3, $5, $4, $10);
  RETURN CASE WHEN standing IN ('equal', 'archived equal') THEN 'repeated'
    WHEN standing = 'erased' THEN 'erased' ELSE 'conflict' END;
END $$;
REVOKE EXECUTE ON FUNCTION
  cf.record(text, text, text, bytea, text, text, text, bigint, bigint, text) FROM PUBLIC;

UPDATE cf.meta SET version = 7;

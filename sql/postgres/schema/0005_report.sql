-- The view cf.report, through which a worker that shares the database ends a command, and what a
-- report writes: receipt, contradiction, tally, the end of a delivery.
--
-- Everything is checked by RAISE before anything is written. Locks are taken in the order of the
-- whole product: the delivery, then the receipt. A report takes no row of
-- another command: where one may wait behind it, a note tells the sweep, which gives the turn on.

-- One report, carried out: recorded, repeated or contradiction. Under READ COMMITTED each look sees
-- what was committed before it; above that, who comes second hears 40001 and tries again.
CREATE FUNCTION cf.reported(
  command_id text, outcome text, result bytea, evidence text, token bigint)
RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
  own CONSTANT text := coalesce(current_setting('counterfoil.own', true), '');
  id CONSTANT text := $1;
  said CONSTANT text := coalesce(nullif($4, ''), 'reported through cf.report');
  number bigint;
  open cf.delivery;
  came text := 'repeated';
BEGIN
  IF ($2 IN ('completed', 'rejected')) IS NOT TRUE THEN
    RAISE check_violation USING MESSAGE = 'CF0201 outcome is completed or rejected: report only '
      'what is known';
  ELSIF octet_length($3) > 16777216 THEN
    RAISE check_violation USING MESSAGE = 'CF0204 result is text or bytes of at most 16 MiB, or '
      'NULL: bind JSON as text';
  ELSIF octet_length(said) > 65536 THEN
    RAISE check_violation USING MESSAGE = 'CF0204 evidence is text of at most 64 KiB, or NULL: '
      'say by what the outcome is known';
  ELSIF $5 < 1 THEN
    RAISE check_violation USING MESSAGE = 'CF0205 token is the number in Counterfoil-Token: leave '
      'it out for a report without a fence';
  END IF;
  -- By the unique index of outbox.
  SELECT o.n INTO number FROM cf.outbox o WHERE o.command_id = id;
  -- By the primary key of delivery. Whoever reports or settles first ends it; the second waits
  -- here and then finds no row.
  SELECT d.* INTO open FROM cf.delivery d WHERE d.n = number FOR UPDATE;
  IF FOUND THEN
    IF $5 IS NOT NULL AND $5 <> open.token THEN
      RAISE check_violation USING MESSAGE = 'CF0203 this token is not the newest of an open '
        'command: another attempt owns it or it has ended; roll back';
    END IF;
    -- By the primary key of receipt, here and below.
    IF EXISTS (SELECT FROM cf.receipt r WHERE r.n = number AND r.round >= open.round) THEN
      RAISE check_violation USING MESSAGE = 'CF0206 this command is neither open nor ended as it '
        'should be: run counterfoil audit';
    END IF;
    -- Without a token, a report that repeats an earlier round's receipt word for word changes
    -- nothing: it is that round's report, come late. With the newest token it speaks of this round.
    IF $5 IS NULL AND EXISTS (SELECT FROM cf.receipt r WHERE r.n = number
      AND r.outcome = $2 AND r.result IS NOT DISTINCT FROM $3 AND r.evidence = said) THEN
      RETURN 'repeated';
    END IF;
    PERFORM set_config('counterfoil.own', 'on', true);
    INSERT INTO cf.receipt(n, round, outcome, result, evidence, source, destination, attempts,
      token, first_sent_at, key_seq, digest, row_digest, recorded_at)
    VALUES (number, open.round, $2, $3, said, 'report', open.destination, open.attempts,
      open.token, open.first_sent_at, open.key_seq, open.digest, open.row_digest, cf.micros());
    INSERT INTO cf.tally(destination, outcome, count) VALUES (open.destination, $2, 1);
    DELETE FROM cf.delivery d WHERE d.n = number;
    -- By delivery_lane. Who comes while this one ends cannot hold it, and leaves a note of its own;
    -- who held it was waited for, and is seen here, but for a snapshot of before.
    IF open.ordering_key IS NOT NULL AND (open.turn IS NOT NULL OR open.state <> 'pending')
      AND (current_setting('transaction_isolation') <> 'read committed'
        OR EXISTS (SELECT FROM cf.delivery d WHERE d.destination = open.destination
          AND d.ordering_key = open.ordering_key)) THEN
      INSERT INTO cf.lane_freed(destination, ordering_key)
      VALUES (open.destination, open.ordering_key);
    END IF;
    PERFORM set_config('counterfoil.own', own, true);
    RETURN 'recorded';
  END IF;
  RETURN cf.reported_late(id, number, $2, $3, said, $5);
END $$;

-- A report of a command that has ended: nothing, or a contradiction that is kept.
CREATE FUNCTION cf.reported_late(
  id text, number bigint, outcome text, result bytea, evidence text, token bigint)
RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
  own CONSTANT text := coalesce(current_setting('counterfoil.own', true), '');
  ended record;
BEGIN
  -- The newest receipt, locked, so that of two equal contradictions one is kept.
  SELECT r.round, r.outcome INTO ended FROM cf.receipt r
  WHERE r.n = $2 ORDER BY r.round DESC LIMIT 1 FOR UPDATE;
  IF NOT FOUND THEN
    -- Archived before, or while this report looked. By the primary key of archived.
    SELECT a.rounds AS round, a.outcome INTO ended FROM cf.archived a
    WHERE a.command_id = $1 FOR UPDATE;
    IF NOT FOUND AND $2 IS NULL THEN
      RAISE check_violation USING MESSAGE = 'CF0202 no such command: this store never heard of '
        'the id; check it, and check the store';
    ELSIF NOT FOUND THEN
      RAISE check_violation USING MESSAGE = 'CF0206 this command is neither open nor ended as it '
        'should be: run counterfoil audit';
    END IF;
  END IF;
  IF $6 IS NOT NULL THEN
    RAISE check_violation USING MESSAGE = 'CF0203 this token is not the newest of an open '
      'command: another attempt owns it or it has ended; roll back';
  END IF;
  -- A broker took it, and then it was done: no contradiction. Nor is an earlier round's report that
  -- comes late.
  IF ended.outcome = $3 OR (ended.outcome = 'accepted' AND $3 = 'completed')
    OR EXISTS (SELECT FROM cf.receipt r WHERE r.n = $2
      AND r.outcome = $3 AND r.result IS NOT DISTINCT FROM $4 AND r.evidence = $5) THEN
    RETURN 'repeated';
  END IF;
  -- By contradiction_command.
  IF EXISTS (SELECT FROM cf.contradiction c WHERE c.command_id = $1 AND c.round = ended.round
    AND c.outcome = $3 AND c.result IS NOT DISTINCT FROM $4 AND c.evidence = $5) THEN
    RETURN 'contradiction';
  END IF;
  PERFORM set_config('counterfoil.own', 'on', true);
  INSERT INTO cf.contradiction(command_id, round, outcome, result, evidence, source, recorded_at)
  VALUES ($1, ended.round, $3, $4, $5, 'report', cf.micros());
  PERFORM set_config('counterfoil.own', own, true);
  RETURN 'contradiction';
END $$;

-- No table stands behind it, so UPDATE and DELETE have nowhere to go.
CREATE VIEW cf.report AS
SELECT NULL::text AS command_id, NULL::text AS outcome, NULL::bytea AS result,
  NULL::text AS evidence, NULL::bigint AS token
WHERE false;

CREATE FUNCTION cf.report_insert() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM cf.reported(NEW.command_id, NEW.outcome, NEW.result, NEW.evidence, NEW.token);
  RETURN NEW;
END $$;
CREATE TRIGGER report_insert INSTEAD OF INSERT ON cf.report FOR EACH ROW
EXECUTE FUNCTION cf.report_insert();

-- Whoever may write the view, or is told so, reports; the functions behind it are nobody's, nor
-- may anybody hang the trigger on a view of his own.
REVOKE EXECUTE ON FUNCTION cf.reported(text, text, bytea, text, bigint) FROM PUBLIC;
REVOKE EXECUTE ON FUNCTION cf.reported_late(text, bigint, text, bytea, text, bigint) FROM PUBLIC;
REVOKE EXECUTE ON FUNCTION cf.report_insert() FROM PUBLIC;

UPDATE cf.meta SET version = 5;

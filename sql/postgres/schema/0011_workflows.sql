-- Workflows: who decides a stream, and for whom each input waits.
--
-- An input carries the program that it waits for, so that a runner finds its own and walks over
-- nobody else's: the name alone for a start, name/version for a stream that has begun; NULL where
-- it waits for a stream that never began, or is quarantined.

-- What a workflow's decision said beside its events, on the event of its input.
ALTER TABLE cf.event ADD COLUMN decided text;

ALTER TABLE cf.stream ADD COLUMN lease_until bigint, ADD COLUMN changed_at bigint,
  ADD COLUMN lease_owner text,
  ADD COLUMN reason text,                        -- why it is quarantined
  ADD COLUMN input text;                         -- on which input
-- Each step writes its row anew: with room beside it no index is touched.
ALTER TABLE cf.stream SET (fillfactor = 70);
-- Lists by status: those that completed, nearly all one day, stand in none.
CREATE INDEX stream_status ON cf.stream(status, stream) WHERE status <> 'completed';

ALTER TABLE cf.input ADD COLUMN recorded_at bigint, ADD COLUMN workflow text COLLATE "C";

-- The program that decides a stream's inputs, by its row; NULL where it decides none.
CREATE FUNCTION cf.decides(workflow text, version bigint, status text) RETURNS text
LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN status = 'running' OR status = 'completed' OR status = 'failed'
    THEN workflow || '/' || version END
$$;
-- Whom an input waits for, by itself and by the row of its stream, if there is one.
CREATE FUNCTION cf.waits_for(
  kind text, name text, workflow text, version bigint, status text)
RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN workflow IS NOT NULL THEN CASE
      WHEN status = 'running' OR status = 'completed' OR status = 'failed'
      THEN workflow || '/' || version END
    WHEN kind = 'start' THEN name END
$$;

UPDATE cf.input i SET recorded_at = t.now, workflow = (
  SELECT cf.waits_for(i.kind, i.name, s.workflow, s.version, s.status)
  FROM (SELECT) one LEFT JOIN cf.stream s ON s.stream = i.stream)
FROM (SELECT cf.micros() AS now) t;
ALTER TABLE cf.input ALTER COLUMN recorded_at SET NOT NULL;
-- What a runner takes, and what waits for a workflow that is not there.
CREATE INDEX input_due ON cf.input(workflow, due_at NULLS FIRST, arrival)
  WHERE workflow IS NOT NULL;
CREATE INDEX input_aside ON cf.input(stream, id) WHERE workflow IS NULL;
-- Each row comes and goes, so the table is vacuumed by a count of dead rows, like delivery.
ALTER TABLE cf.input SET (autovacuum_vacuum_scale_factor = 0.0,
  autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_insert_scale_factor = 0.0,
  autovacuum_vacuum_insert_threshold = 50000, autovacuum_analyze_scale_factor = 0.0,
  autovacuum_analyze_threshold = 50000, autovacuum_vacuum_cost_delay = 0);

-- As in 0004; it says for whom the input waits, and when it came. An open transaction of a user
-- holds no workflow up: the row of the stream is read and not locked. So a start that is decided
-- in another open transaction is not seen; the upkeep of inputs finds what waits for nobody.
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
  SELECT e.kind = NEW.kind || ':' || NEW.name AND e.body = coalesce(NEW.body, '')
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

-- The receipt of this round, if it is the first of a workflow's command, becomes its input. By the
-- primary keys of outbox, receipt and stream, and by event_cause. It never locks the workflow.
CREATE FUNCTION cf.input_of_receipt(number bigint, round int) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
  INSERT INTO cf.input(stream, id, kind, name, workflow, recorded_at)
  SELECT o.stream, 'receipt:' || o.seq || ':' || o.idx, 'receipt', r.outcome,
    cf.decides(s.workflow, s.version, s.status), cf.micros()
  FROM cf.outbox o JOIN cf.receipt r ON r.n = o.n AND r.round = $2
  JOIN cf.stream s ON s.stream = o.stream
  WHERE o.n = $1 AND s.workflow IS NOT NULL
    AND NOT EXISTS (SELECT FROM cf.receipt b WHERE b.n = o.n AND b.round < $2)
    AND NOT EXISTS (SELECT FROM cf.event e
      WHERE e.stream = o.stream AND e.cause = 'receipt:' || o.seq || ':' || o.idx)
  ON CONFLICT (stream, id) DO NOTHING;
END $$;
REVOKE EXECUTE ON FUNCTION cf.input_of_receipt(bigint, int) FROM PUBLIC;

-- As in 0005, but that the first receipt of a workflow's command becomes its input.
CREATE OR REPLACE FUNCTION cf.reported(
  command_id text, outcome text, result bytea, evidence text, token bigint)
RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
  own CONSTANT text := coalesce(current_setting('counterfoil.own', true), '');
  id CONSTANT text := $1;
  said CONSTANT text := coalesce(nullif($4, ''), 'reported through cf.report');
  number bigint;
  stream text;
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
  SELECT o.n, o.stream INTO number, stream FROM cf.outbox o WHERE o.command_id = id;
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
    IF stream IS NOT NULL THEN
      PERFORM cf.input_of_receipt(number, open.round);
    END IF;
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

UPDATE cf.meta SET version = 11;

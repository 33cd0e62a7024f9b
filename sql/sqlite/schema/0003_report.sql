-- The view counterfoil_report, through which a worker that shares the database ends a command,
-- and the guards of what a report writes: receipt, contradiction, tally, the end of a delivery.
--
-- A report is one row of counterfoil_reporting that exists only while it is being carried out:
-- the guard checks it whole, the AFTER trigger writes everything and removes it. A row there is
-- therefore the proof, for the guards below, that a report is running; no statement of a stranger
-- ever finds one. An insert straight into that table is nothing but a report, by the same checks.

CREATE TABLE counterfoil_reporting(
  command_id ANY,
  outcome    ANY,
  result     ANY,
  evidence   ANY,
  token      ANY
) STRICT;

CREATE VIEW counterfoil_report AS
SELECT command_id, NULL AS outcome, NULL AS result, NULL AS evidence, NULL AS token
FROM counterfoil_outbox WHERE 0;

-- An id in bytes is the same id. A token may come as the digits that stood in the header.
CREATE TRIGGER counterfoil_report_insert INSTEAD OF INSERT ON counterfoil_report
BEGIN
  INSERT INTO counterfoil_reporting(command_id, outcome, result, evidence, token)
  VALUES (CAST(NEW.command_id AS TEXT), NEW.outcome, NEW.result,
    coalesce(nullif(NEW.evidence, ''), 'reported through counterfoil_report'),
    CASE WHEN typeof(NEW.token) = 'text' AND CAST(CAST(NEW.token AS INTEGER) AS TEXT) = NEW.token
      THEN CAST(NEW.token AS INTEGER) ELSE NEW.token END);
END;

CREATE TRIGGER counterfoil_reporting_guard BEFORE INSERT ON counterfoil_reporting
BEGIN
  SELECT CASE
    WHEN NEW.outcome IS NOT 'completed' AND NEW.outcome IS NOT 'rejected'
    THEN RAISE(ABORT, 'CF0201 outcome is completed or rejected: report only what is known')
    WHEN typeof(NEW.result) IN ('integer', 'real') OR length(CAST(NEW.result AS BLOB)) > 16777216
    THEN RAISE(ABORT, 'CF0204 result is text or bytes of at most 16 MiB, or NULL: bind JSON as text')
    WHEN typeof(NEW.evidence) <> 'text'
      OR length(CAST(NEW.evidence AS BLOB)) NOT BETWEEN 1 AND 65536
    THEN RAISE(ABORT, 'CF0204 evidence is text of at most 64 KiB, or NULL: say by what the outcome is known')
    WHEN typeof(NEW.token) NOT IN ('integer', 'null') OR NEW.token < 1
    THEN RAISE(ABORT, 'CF0205 token is the number in Counterfoil-Token: leave it out for a report without a fence')
    WHEN typeof(NEW.command_id) <> 'text'
      OR (NOT EXISTS (SELECT 1 FROM counterfoil_outbox WHERE command_id = NEW.command_id)
        AND NOT EXISTS (SELECT 1 FROM counterfoil_archived WHERE command_id = NEW.command_id))
    THEN RAISE(ABORT, 'CF0202 no such command: this store never heard of the id; check it, and check the store')
    WHEN NEW.token IS NOT NULL AND NOT EXISTS (SELECT 1
      FROM counterfoil_outbox o JOIN counterfoil_delivery d ON d.n = o.n
      WHERE o.command_id = NEW.command_id AND d.token = NEW.token)
    THEN RAISE(ABORT, 'CF0203 this token is not the newest of an open command: another attempt owns it or it has ended; roll back')
    WHEN EXISTS (SELECT 1 FROM counterfoil_outbox o
      LEFT JOIN counterfoil_delivery d ON d.n = o.n
      WHERE o.command_id = NEW.command_id
        AND CASE WHEN d.n IS NULL
          THEN NOT EXISTS (SELECT 1 FROM counterfoil_receipt r WHERE r.n = o.n)
          ELSE EXISTS (SELECT 1 FROM counterfoil_receipt r WHERE r.n = o.n AND r.round >= d.round)
          END)
    THEN RAISE(ABORT, 'CF0206 this command is neither open nor ended as it should be: run counterfoil audit')
  END;
END;

-- Without a token, a report that repeats an earlier round's receipt word for word changes
-- nothing: it is that round's report, come late. With the newest token it speaks of this round.
CREATE TRIGGER counterfoil_reporting_made AFTER INSERT ON counterfoil_reporting
BEGIN
  INSERT INTO counterfoil_contradiction(
    command_id, round, outcome, result, evidence, source, recorded_at)
  SELECT NEW.command_id, e.round, NEW.outcome, NEW.result, NEW.evidence, 'report',
    CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER)
  FROM (
    SELECT o.n AS n, r.round AS round, r.outcome AS outcome
    FROM counterfoil_outbox o JOIN counterfoil_receipt r ON r.n = o.n
    WHERE o.command_id = NEW.command_id
      AND NOT EXISTS (SELECT 1 FROM counterfoil_delivery d WHERE d.n = o.n)
      AND NOT EXISTS (SELECT 1 FROM counterfoil_receipt r2 WHERE r2.n = o.n AND r2.round > r.round)
    UNION ALL
    SELECT NULL, rounds, outcome FROM counterfoil_archived WHERE command_id = NEW.command_id
  ) e
  WHERE e.outcome <> NEW.outcome
    -- A broker took it, and then it was done.
    AND NOT (e.outcome = 'accepted' AND NEW.outcome = 'completed')
    AND NOT EXISTS (SELECT 1 FROM counterfoil_receipt r WHERE r.n = e.n
      AND r.outcome = NEW.outcome AND r.result IS NEW.result AND r.evidence = NEW.evidence)
    AND NOT EXISTS (SELECT 1 FROM counterfoil_contradiction c
      WHERE c.command_id = NEW.command_id AND c.round = e.round AND c.outcome = NEW.outcome
        AND c.result IS NEW.result AND c.evidence = NEW.evidence);

  INSERT INTO counterfoil_receipt(n, round, outcome, result, evidence, source, destination,
    attempts, token, first_sent_at, key_seq, digest, row_digest, recorded_at)
  SELECT d.n, d.round, NEW.outcome, NEW.result, NEW.evidence, 'report', d.destination,
    d.attempts, d.token, d.first_sent_at, d.key_seq, d.digest, d.row_digest,
    CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER)
  FROM counterfoil_outbox o JOIN counterfoil_delivery d ON d.n = o.n
  WHERE o.command_id = NEW.command_id
    AND (NEW.token IS NOT NULL OR NOT EXISTS (SELECT 1 FROM counterfoil_receipt r
      WHERE r.n = d.n AND r.round < d.round AND r.outcome = NEW.outcome
        AND r.result IS NEW.result AND r.evidence = NEW.evidence));

  INSERT INTO counterfoil_tally(destination, outcome, count)
  SELECT r.destination, r.outcome, 1
  FROM counterfoil_outbox o JOIN counterfoil_delivery d ON d.n = o.n
  JOIN counterfoil_receipt r ON r.n = d.n AND r.round = d.round
  WHERE o.command_id = NEW.command_id
  ON CONFLICT(destination, outcome) DO UPDATE SET count = count + 1;

  DELETE FROM counterfoil_delivery
  WHERE n = (SELECT n FROM counterfoil_outbox WHERE command_id = NEW.command_id)
    AND EXISTS (SELECT 1 FROM counterfoil_receipt r
      WHERE r.n = counterfoil_delivery.n AND r.round = counterfoil_delivery.round);

  DELETE FROM counterfoil_reporting;
END;

CREATE TRIGGER counterfoil_delivery_no_delete BEFORE DELETE ON counterfoil_delivery
WHEN NOT EXISTS (SELECT 1 FROM counterfoil_reporting)
  OR NOT EXISTS (SELECT 1 FROM counterfoil_receipt WHERE n = OLD.n AND round = OLD.round)
BEGIN
  SELECT RAISE(ABORT, 'CF0120 deliveries are Counterfoil''s own: insert a command into counterfoil_outbox, report through counterfoil_report');
END;

CREATE TRIGGER counterfoil_receipt_guard BEFORE INSERT ON counterfoil_receipt
WHEN NOT EXISTS (SELECT 1 FROM counterfoil_reporting)
  OR EXISTS (SELECT 1 FROM counterfoil_receipt WHERE n = NEW.n AND round = NEW.round)
BEGIN
  SELECT RAISE(ABORT, 'CF0121 receipts are Counterfoil''s own and never changed: report through counterfoil_report');
END;
CREATE TRIGGER counterfoil_receipt_no_update BEFORE UPDATE ON counterfoil_receipt
BEGIN
  SELECT RAISE(ABORT, 'CF0121 receipts are Counterfoil''s own and never changed: report through counterfoil_report');
END;
CREATE TRIGGER counterfoil_receipt_no_delete BEFORE DELETE ON counterfoil_receipt
BEGIN
  SELECT RAISE(ABORT, 'CF0121 receipts are Counterfoil''s own and never changed: report through counterfoil_report');
END;

CREATE TRIGGER counterfoil_contradiction_guard BEFORE INSERT ON counterfoil_contradiction
WHEN NOT EXISTS (SELECT 1 FROM counterfoil_reporting)
BEGIN
  SELECT RAISE(ABORT, 'CF0122 contradictions are Counterfoil''s own and never changed: report through counterfoil_report');
END;
CREATE TRIGGER counterfoil_contradiction_no_update BEFORE UPDATE ON counterfoil_contradiction
BEGIN
  SELECT RAISE(ABORT, 'CF0122 contradictions are Counterfoil''s own and never changed: report through counterfoil_report');
END;
CREATE TRIGGER counterfoil_contradiction_no_delete BEFORE DELETE ON counterfoil_contradiction
BEGIN
  SELECT RAISE(ABORT, 'CF0122 contradictions are Counterfoil''s own and never changed: report through counterfoil_report');
END;

CREATE TRIGGER counterfoil_tally_guard BEFORE INSERT ON counterfoil_tally
WHEN NOT EXISTS (SELECT 1 FROM counterfoil_reporting)
BEGIN
  SELECT RAISE(ABORT, 'CF0128 tallies are Counterfoil''s own: counts follow from receipts; see counterfoil status');
END;
CREATE TRIGGER counterfoil_tally_no_update BEFORE UPDATE ON counterfoil_tally
WHEN NOT EXISTS (SELECT 1 FROM counterfoil_reporting)
BEGIN
  SELECT RAISE(ABORT, 'CF0128 tallies are Counterfoil''s own: counts follow from receipts; see counterfoil status');
END;
CREATE TRIGGER counterfoil_tally_no_delete BEFORE DELETE ON counterfoil_tally
BEGIN
  SELECT RAISE(ABORT, 'CF0128 tallies are Counterfoil''s own: counts follow from receipts; see counterfoil status');
END;

UPDATE counterfoil_meta SET version = 3;

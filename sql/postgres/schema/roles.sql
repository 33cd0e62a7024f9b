-- The roles of a store: group roles, to be granted to the users that programs connect as.
--
-- Run by a role that may create roles, and again after each upgrade of the schema; twice changes
-- nothing. Roles belong to the whole server: two databases with a schema of one name share them.
DO $$
DECLARE
  wanted text;
BEGIN
  FOREACH wanted IN ARRAY
    ARRAY['cf_writer', 'cf_worker', 'cf_relay', 'cf_operator', 'cf_auditor'] LOOP
    IF NOT EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = wanted) THEN
      EXECUTE pg_catalog.format('CREATE ROLE %I NOLOGIN', wanted);
    END IF;
  END LOOP;
END $$;

GRANT USAGE ON SCHEMA "cf" TO "cf_writer", "cf_worker", "cf_relay", "cf_operator", "cf_auditor";

-- Writers record commands and inputs, and read nothing but ids, which ON CONFLICT needs to see.
GRANT INSERT (command_id, destination, kind, ordering_key, body, content_type, headers, not_before,
  expires_at, core_digest) ON cf.outbox TO "cf_writer";
GRANT SELECT (command_id) ON cf.outbox TO "cf_writer";
GRANT EXECUTE ON FUNCTION cf.record(text, text, text, bytea, text, text, text, bigint, bigint, text)
  TO "cf_writer";
GRANT INSERT (stream, id, kind, name, body) ON cf.input TO "cf_writer";
GRANT SELECT (stream, id) ON cf.input TO "cf_writer";

-- Workers report, and keep the inbox of a receiver.
GRANT INSERT ON cf.report TO "cf_worker";
GRANT EXECUTE ON FUNCTION cf.complete(text, bytea, text, bigint) TO "cf_worker";
GRANT EXECUTE ON FUNCTION cf.reject(text, bytea, text, bigint) TO "cf_worker";
GRANT SELECT, INSERT, DELETE ON cf.inbox TO "cf_worker";
GRANT UPDATE (outcome, result, expires_at) ON cf.inbox TO "cf_worker";

-- Relays, and programs that use the library. Whoever may UPDATE deliveries is trusted to keep the
-- rules by itself, as the guards see it. What is kept for ever they may add to, not take from; one
-- column of two of those tables, since a row's lock asks for the right to change something.
GRANT "cf_writer", "cf_worker" TO "cf_relay";
GRANT SELECT ON ALL TABLES IN SCHEMA "cf" TO "cf_relay";
GRANT USAGE ON ALL SEQUENCES IN SCHEMA "cf" TO "cf_relay";
GRANT INSERT ON cf.outbox, cf.delivery, cf.receipt, cf.contradiction, cf.attempt, cf.event,
  cf.stream, cf.snapshot, cf.input, cf.inbox, cf.lane, cf.lane_freed, cf.destination, cf.tally,
  cf.operator_action TO "cf_relay";
GRANT UPDATE ON cf.delivery, cf.lane, cf.lane_freed, cf.destination, cf.tally, cf.stream,
  cf.snapshot, cf.input, cf.inbox TO "cf_relay";
GRANT UPDATE (source) ON cf.receipt TO "cf_relay";
GRANT UPDATE (file) ON cf.archived TO "cf_relay";
GRANT DELETE ON cf.delivery, cf.lane_freed, cf.tally, cf.snapshot, cf.input, cf.inbox TO "cf_relay";

-- Operators run every verb of the command line but init: also those that remove by proof. What the
-- store is, who did what to it and what was archived no verb takes away; an erasure clears reasons.
GRANT "cf_relay" TO "cf_operator";
GRANT INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA "cf" TO "cf_operator";
REVOKE INSERT, UPDATE, DELETE ON cf.meta FROM "cf_operator";
REVOKE UPDATE, DELETE ON cf.operator_action FROM "cf_operator";
GRANT UPDATE (reason) ON cf.operator_action TO "cf_operator";
REVOKE DELETE ON cf.archived FROM "cf_operator";

-- Auditors read, and write the seal: how far an audit came, and the sums of what it read.
GRANT SELECT ON ALL TABLES IN SCHEMA "cf" TO "cf_auditor";
GRANT SELECT ON ALL SEQUENCES IN SCHEMA "cf" TO "cf_auditor";
GRANT INSERT, UPDATE ON cf.seal TO "cf_auditor";

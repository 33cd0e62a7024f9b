-- by pg_database_datname_index and the server's list of locks: the transactions, prepared ones too,
-- that may have written what the audit reads on from; or which of these are still there. An INSERT
-- takes this lock before it draws a number or the time, and keeps it to the end of its transaction.
SELECT DISTINCT l.virtualtransaction FROM pg_locks l
WHERE l.locktype = 'relation' AND l.mode = 'RowExclusiveLock' AND l.granted
  AND l.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database())
  AND l.relation = ANY(ARRAY['cf.outbox'::regclass, 'cf.receipt'::regclass,
    'cf.attempt'::regclass, 'cf.contradiction'::regclass, 'cf.operator_action'::regclass,
    'cf.event'::regclass]::oid[])
  AND ($1::bool OR l.virtualtransaction = ANY($2::text[]));

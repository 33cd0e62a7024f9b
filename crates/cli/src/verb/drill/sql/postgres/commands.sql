-- Every command id; served by the unique index on command_id.
SELECT command_id FROM cf.outbox;

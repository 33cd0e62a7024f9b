-- Command ids after another, in order; served by the unique index on command_id.
SELECT command_id FROM counterfoil_outbox WHERE command_id > ?1 ORDER BY command_id LIMIT 10000;

-- by archived_pkey: which of these commands have a tombstone.
SELECT command_id FROM cf.archived WHERE command_id = ANY($1::text[]);

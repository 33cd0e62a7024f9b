-- by archived_pkey: of these commands.
SELECT command_id, destination, kind, ordering_key, digest, outcome, rounds, file, row_digest
FROM cf.archived WHERE command_id = ANY($1::text[]);

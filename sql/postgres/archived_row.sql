-- by archived_pkey.
SELECT destination, kind, ordering_key, digest, outcome, rounds
FROM cf.archived WHERE command_id = $1::text;

-- by archived_pkey from the cursor on.
SELECT command_id, destination, kind, ordering_key, digest, outcome, rounds, file, row_digest
FROM cf.archived WHERE command_id >= coalesce($1::text, '')
  AND command_id IS DISTINCT FROM $1::text ORDER BY command_id LIMIT $2::bigint;

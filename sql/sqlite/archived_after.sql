-- by the primary key of counterfoil_archived, from the cursor on; ids compare by bytes.
SELECT command_id, destination, kind, ordering_key, digest, outcome, rounds, file, row_digest
FROM counterfoil_archived WHERE command_id >= coalesce(?1, '')
  AND command_id IS NOT ?1 ORDER BY command_id LIMIT ?2;

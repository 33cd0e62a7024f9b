-- by the primary key of counterfoil_archived.
SELECT command_id, destination, kind, ordering_key, digest, outcome, rounds, file, row_digest
FROM counterfoil_archived WHERE command_id = ?1;

-- by the primary key of counterfoil_archived.
SELECT destination, kind, ordering_key, digest, outcome, rounds
FROM counterfoil_archived WHERE command_id = ?1;

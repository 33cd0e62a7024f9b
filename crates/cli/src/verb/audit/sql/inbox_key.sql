-- What stands under one key of one source; served by the primary key.
SELECT outcome, received_at FROM counterfoil_inbox WHERE source = ?1 AND key = ?2;

-- by the primary key of counterfoil_stream: who holds a workflow lets go of it.
UPDATE counterfoil_stream SET lease_owner = NULL, lease_until = NULL
WHERE stream = ?1 AND lease_owner = ?2;

-- by rowid: whatever its state says, since a state that is none parks too.
UPDATE counterfoil_delivery SET state = ?2, in_doubt = ?3, available_at = NULL, turn = NULL,
  lease_until = NULL, lease_owner = NULL, last_outcome = ?4
WHERE n = ?1;

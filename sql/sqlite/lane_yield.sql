-- by rowid: one behind another gives the turn back.
UPDATE counterfoil_delivery SET available_at = NULL, turn = NULL
WHERE n = ?1 AND state = 'pending';

-- by rowid: it counts only for the state and token that were read or claimed.
DELETE FROM counterfoil_delivery WHERE n = ?1 AND token = ?2 AND state = ?3;

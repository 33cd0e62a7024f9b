-- by rowid: the plain claim of a pending command, in the transaction that has just read it.
UPDATE counterfoil_delivery SET state = 'sending', attempts = ?2, round_since = ?3, token = ?4,
  available_at = ?5, lease_until = ?5, last_lease_until = ?5, lease_owner = ?6, first_sent_at = ?7
WHERE n = ?1;

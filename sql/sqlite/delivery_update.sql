-- by rowid: it counts only for the state and token that were read.
UPDATE counterfoil_delivery SET state = ?4, round = ?5, round_since = ?6, attempts = ?7, asks = ?8,
  in_doubt = ?9, available_at = ?10,
  turn = CASE WHEN ?10 IS NOT NULL THEN turn END, token = ?11, lease_until = ?12, lease_owner = ?13,
  first_sent_at = ?14, last_lease_until = ?15, last_outcome = ?16,
  digest = coalesce(?17, digest), row_digest = coalesce(?18, row_digest)
WHERE n = ?1 AND token = ?2 AND state = ?3;

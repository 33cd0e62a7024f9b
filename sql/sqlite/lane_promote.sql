-- by rowid: the next of a lane, whose number is ?3, is due now, or at its own not_before.
UPDATE counterfoil_delivery SET turn = ?3, available_at = max(?2,
  coalesce((SELECT o.not_before FROM counterfoil_outbox o WHERE o.n = counterfoil_delivery.n), ?2))
WHERE n = ?1 AND state = 'pending' AND turn IS NULL;

-- by rowid: the content goes, all that tells one command from another stays.
UPDATE counterfoil_outbox SET body = '', headers = NULL, erased_at = ?2 WHERE n = ?1;

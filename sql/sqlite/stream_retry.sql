-- by the primary key of counterfoil_stream.
UPDATE counterfoil_stream SET status = 'running', reason = NULL, input = NULL, changed_at = ?2
WHERE stream = ?1;

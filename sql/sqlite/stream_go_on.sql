-- by the primary key of counterfoil_stream.
UPDATE counterfoil_stream SET status = ?2, head = ?3, lease_owner = ?4, lease_until = ?5,
  changed_at = ?6
WHERE stream = ?1;

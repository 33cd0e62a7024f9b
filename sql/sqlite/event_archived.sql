-- by the primary key of counterfoil_archived: generated ids begin with stream and seq, and end with
-- an index below the number of commands that the event issued. Another's id may look alike.
SELECT count(*) FROM counterfoil_archived
WHERE command_id >= ?1 AND command_id < ?2
  AND CAST(CAST(substr(command_id, ?3) AS INTEGER) AS TEXT) = substr(command_id, ?3)
  AND CAST(substr(command_id, ?3) AS INTEGER) BETWEEN 0 AND ?4 - 1;

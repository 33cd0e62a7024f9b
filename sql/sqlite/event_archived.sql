-- by the primary key of counterfoil_archived: generated ids begin with stream and seq.
SELECT count(*) FROM counterfoil_archived
WHERE command_id >= ?1 AND command_id < ?2 AND substr(command_id, ?3) NOT GLOB '*[^0-9]*';

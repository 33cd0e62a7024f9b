-- by the primary key of counterfoil_stream: the head follows from the events.
DELETE FROM counterfoil_stream WHERE stream = ?1;

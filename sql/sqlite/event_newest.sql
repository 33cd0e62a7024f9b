-- by the primary key of counterfoil_event: the newest of a stream.
SELECT max(seq) FROM counterfoil_event WHERE stream = ?1;

-- by the primary keys of counterfoil_event and counterfoil_stream.
SELECT coalesce((SELECT max(seq) FROM counterfoil_event WHERE stream = ?1),
  (SELECT head FROM counterfoil_stream WHERE stream = ?1), 0);

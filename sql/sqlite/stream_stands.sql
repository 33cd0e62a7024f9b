-- by the primary keys of counterfoil_stream and, where no workflow stands, counterfoil_event.
SELECT s.workflow, s.version, s.status, s.head,
  CASE WHEN s.workflow IS NULL
    THEN coalesce((SELECT max(seq) FROM counterfoil_event WHERE stream = ?1), s.head, 0) END
FROM (SELECT 1) LEFT JOIN counterfoil_stream s ON s.stream = ?1;

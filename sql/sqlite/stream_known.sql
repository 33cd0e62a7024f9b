-- by the primary key of counterfoil_event, counterfoil_event_cause and
-- sqlite_autoindex_counterfoil_input_1: what stands of a stream without a workflow.
SELECT coalesce((SELECT max(seq) FROM counterfoil_event WHERE stream = ?1), 0)
WHERE EXISTS (SELECT 1 FROM counterfoil_event WHERE stream = ?1 AND cause IS NOT NULL)
  OR EXISTS (SELECT 1 FROM counterfoil_input WHERE stream = ?1);

-- by counterfoil_input_due in the order of arrival, and by the primary key of counterfoil_stream.
SELECT i.rowid, i.stream, i.id, i.kind, i.name, i.body, i.recorded_at, s.workflow, s.version,
  s.status, s.head
FROM counterfoil_input i LEFT JOIN counterfoil_stream s ON s.stream = i.stream
WHERE i.workflow = ?1 AND i.due_at IS NULL
  AND (s.lease_until > ?2 AND s.lease_owner <> ?3) IS NOT TRUE
ORDER BY i.rowid;

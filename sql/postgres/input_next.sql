-- by input_due, one row a program: NULL, due at once, stands first.
SELECT min(coalesce(n.due_at, 0)) FROM unnest($1::text[]) AS k(workflow)
CROSS JOIN LATERAL (SELECT i.due_at FROM cf.input i
  WHERE i.workflow = k.workflow AND i.workflow IS NOT NULL
  ORDER BY i.due_at NULLS FIRST, i.arrival LIMIT 1) n;

-- by counterfoil_input_due: NULL, due at once, stands first.
SELECT due_at FROM counterfoil_input WHERE workflow = ?1 ORDER BY due_at LIMIT 1;

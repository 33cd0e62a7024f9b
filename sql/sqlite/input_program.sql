-- by counterfoil_input_due: the next program that something waits for.
SELECT min(workflow) FROM counterfoil_input WHERE workflow > ?1;

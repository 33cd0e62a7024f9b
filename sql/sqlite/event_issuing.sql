-- by the primary key of counterfoil_event, from the cursor on: the decisions that issued commands.
SELECT seq, commands FROM counterfoil_event
WHERE stream = ?1 AND seq >= ?2 AND commands > 0 ORDER BY seq;

-- How many commands are completed; served by the primary key of the tally.
SELECT coalesce(sum(count), 0) FROM counterfoil_tally
WHERE destination = 'shipping' AND outcome = 'completed';

-- How many commands are completed: a scan of the tally's deltas, which sweeps fold.
SELECT coalesce(sum(count), 0)::bigint FROM cf.tally
WHERE destination = 'shipping' AND outcome = 'completed';

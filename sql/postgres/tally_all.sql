-- by scan of tally: few rows, since sweeps fold them.
SELECT destination, outcome, sum(count)::bigint FROM cf.tally GROUP BY destination, outcome
ORDER BY destination, outcome;

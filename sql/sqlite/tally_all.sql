-- by scan of tally: a row a destination and outcome.
SELECT destination, outcome, count FROM counterfoil_tally;

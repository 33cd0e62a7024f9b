-- by scan of delivery: people ask, and it holds only what is open.
SELECT destination, state, count(*) FROM cf.delivery GROUP BY destination, state;

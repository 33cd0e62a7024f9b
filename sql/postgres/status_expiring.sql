-- by delivery_expiry, all of it: it holds only commands with an expiry.
SELECT destination, count(*), min(expires_at) FROM cf.delivery
WHERE expires_at IS NOT NULL AND state = 'pending' GROUP BY destination;

-- by counterfoil_delivery_expiry, all of it, sorted anew: it holds only pending commands with an
-- expiry.
SELECT destination, count(*), min(expires_at) FROM counterfoil_delivery
WHERE expires_at IS NOT NULL AND state = 'pending' GROUP BY destination;

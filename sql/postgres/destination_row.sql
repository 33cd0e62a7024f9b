-- by destination_pkey.
SELECT contract, paused_at IS NOT NULL FROM cf.destination WHERE name = $1::text;

-- by destination_pkey: contracts of these destinations, and whether they are paused.
SELECT name, contract, paused_at IS NOT NULL FROM cf.destination WHERE name = ANY($1::text[]);

-- by destination_pkey: the first contract, or over the one that was read.
INSERT INTO cf.destination AS d (name, contract) VALUES ($1::text, $2::text)
ON CONFLICT(name) DO UPDATE SET contract = excluded.contract
WHERE d.contract IS NOT DISTINCT FROM $3::text RETURNING name;

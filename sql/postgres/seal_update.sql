-- by seal_pkey: over the one that was read, and no other; whoever else writes it is waited for.
UPDATE cf.seal SET version = version + 1, recorded_at = cf.micros(), seal = $2::text
WHERE k = 1 AND version = $1::bigint RETURNING version;

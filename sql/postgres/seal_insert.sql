-- by seal_pkey: the first one, unless another came before.
INSERT INTO cf.seal(k, version, recorded_at, seal) VALUES (1, 1, cf.micros(), $1::text)
ON CONFLICT (k) DO NOTHING RETURNING version;

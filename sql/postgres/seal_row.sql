-- by seal_pkey.
SELECT version, seal, recorded_at FROM cf.seal WHERE k = 1;

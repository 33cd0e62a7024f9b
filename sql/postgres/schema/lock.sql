-- One migration of a schema at a time, until its transaction ends; no table.
SELECT pg_advisory_xact_lock(hashtextextended('counterfoil migrates ' || $1::text, 0));

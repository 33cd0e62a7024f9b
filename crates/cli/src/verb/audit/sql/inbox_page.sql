-- The keys of one source after another key, in order; served by the primary key. A key that is no
-- text comes as its bytes.
SELECT key, outcome, received_at FROM counterfoil_inbox
WHERE source = ?1 AND key > CAST(?2 AS TEXT) ORDER BY key LIMIT ?3;

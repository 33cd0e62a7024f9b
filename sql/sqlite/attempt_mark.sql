-- by none: as for receipts, it holds the number of an attempt that was archived.
INSERT INTO counterfoil_attempt(rowid, n, round, token, purpose, outcome, ended_at)
VALUES (?1, 0, 0, 0, 'archive', 'archived', ?2);

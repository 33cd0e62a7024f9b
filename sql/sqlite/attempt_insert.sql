-- by none: it appends.
INSERT INTO counterfoil_attempt(n, round, token, purpose, outcome, reason, started_at, ended_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8);

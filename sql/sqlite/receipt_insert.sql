-- by none: it appends.
INSERT INTO counterfoil_receipt(n, round, outcome, result, evidence, source, destination, attempts,
  token, first_sent_at, digest, row_digest, recorded_at, key_seq)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14);

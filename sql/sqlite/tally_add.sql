-- by the primary key of counterfoil_tally.
INSERT INTO counterfoil_tally(destination, outcome, count) VALUES (?1, ?2, ?3)
ON CONFLICT(destination, outcome) DO UPDATE SET count = count + excluded.count;

-- by none: a table of the connection alone; it writes no page of the file.
CREATE TEMP TABLE IF NOT EXISTS counterfoil_pass(id INTEGER PRIMARY KEY);

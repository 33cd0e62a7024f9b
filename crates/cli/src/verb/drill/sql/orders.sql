-- The shop's own table of the drill, as a shop would have one.
CREATE TABLE orders(
  id   TEXT    PRIMARY KEY,
  paid INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;

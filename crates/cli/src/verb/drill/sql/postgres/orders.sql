-- The shop's own table of the drill, as a shop would have one.
CREATE TABLE orders(
  id   text PRIMARY KEY,
  paid int  NOT NULL DEFAULT 0
);

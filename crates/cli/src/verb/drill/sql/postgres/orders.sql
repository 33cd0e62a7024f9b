-- The shop's own table of the drill, as a shop would have one; in the order of bytes, as commands.
CREATE TABLE orders(
  id   text COLLATE "C" PRIMARY KEY,
  paid int NOT NULL DEFAULT 0
);

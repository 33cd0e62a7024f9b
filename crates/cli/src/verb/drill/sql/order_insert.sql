-- An order that is not paid yet; served by the primary key.
INSERT INTO orders(id) VALUES (?1);

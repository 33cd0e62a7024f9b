-- Orders that are not paid yet; served by the primary key.
INSERT INTO orders(id) SELECT unnest($1::text[]);

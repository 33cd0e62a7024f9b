-- Marks one order paid, once; served by the primary key.
UPDATE orders SET paid = 1 WHERE id = $1::text AND paid = 0;

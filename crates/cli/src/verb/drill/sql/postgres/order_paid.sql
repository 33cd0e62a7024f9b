-- Whether an order is paid, and how many commands stand for it; served by the primary key and by
-- the unique index on command_id.
SELECT
  (SELECT paid FROM orders WHERE id = $1::text),
  (SELECT count(*) FROM cf.outbox WHERE command_id = 'order.paid:' || $1::text);

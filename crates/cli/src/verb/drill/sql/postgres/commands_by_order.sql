-- Paid orders after another, in order, with what stands about their commands: served by the unique
-- index on command_id and the primary keys.
SELECT
  orders.id,
  outbox.n IS NOT NULL,
  (SELECT count(*) FROM cf.receipt AS receipt
   WHERE receipt.n = outbox.n AND receipt.outcome = 'completed'),
  (SELECT count(*) FROM cf.receipt AS receipt
   WHERE receipt.n = outbox.n AND receipt.outcome <> 'completed'),
  delivery.state,
  coalesce(delivery.in_doubt, 0),
  coalesce(delivery.last_outcome, '')
FROM orders
LEFT JOIN cf.outbox AS outbox ON outbox.command_id = 'order.paid:' || orders.id
LEFT JOIN cf.delivery AS delivery ON delivery.n = outbox.n
WHERE orders.paid = 1 AND orders.id > $1::text
ORDER BY orders.id LIMIT 10000;

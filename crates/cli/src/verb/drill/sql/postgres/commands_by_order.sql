-- Each paid order with what stands about its command: served by the unique index on command_id
-- and the primary keys; one scan of the orders, once at the end of a drill.
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
WHERE orders.paid = 1;

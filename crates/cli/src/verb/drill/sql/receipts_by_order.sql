-- Each paid order with its completed receipts; served by the unique index on command_id and the
-- primary key of receipt.
SELECT orders.id, count(receipt.n)
FROM orders
LEFT JOIN counterfoil_outbox AS outbox ON outbox.command_id = 'order.paid:' || orders.id
LEFT JOIN counterfoil_receipt AS receipt
  ON receipt.n = outbox.n AND receipt.outcome = 'completed'
WHERE orders.paid = 1
GROUP BY orders.id;

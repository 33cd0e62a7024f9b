-- The sender's book in one snapshot: scans of small or once read tables, once at the end of a
-- drill.
SELECT
  (SELECT count(*) FROM orders WHERE paid = 1),
  (SELECT count(*) FROM counterfoil_outbox),
  (SELECT count(*) FROM counterfoil_receipt WHERE outcome = 'completed'),
  (SELECT coalesce(sum(attempts), 0) FROM counterfoil_receipt)
    + (SELECT coalesce(sum(attempts), 0) FROM counterfoil_delivery),
  (SELECT count(*) FROM counterfoil_delivery WHERE state = 'uncertain'),
  (SELECT count(*) FROM counterfoil_delivery WHERE state IN ('dead', 'conflict')),
  (SELECT count(*) FROM counterfoil_delivery
   WHERE state NOT IN ('uncertain', 'dead', 'conflict'));

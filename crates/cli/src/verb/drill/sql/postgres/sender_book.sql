-- The sender's book in one snapshot: scans of small or once read tables, once at the end of a
-- drill.
SELECT
  (SELECT count(*) FROM orders WHERE paid = 1),
  (SELECT count(*) FROM cf.outbox),
  (SELECT count(*) FROM cf.receipt WHERE outcome = 'completed'),
  (SELECT coalesce(sum(attempts), 0)::bigint FROM cf.receipt)
    + (SELECT coalesce(sum(attempts), 0)::bigint FROM cf.delivery),
  (SELECT count(*) FROM cf.delivery WHERE state = 'uncertain'),
  (SELECT count(*) FROM cf.delivery WHERE state IN ('dead', 'conflict')),
  (SELECT count(*) FROM cf.delivery WHERE state NOT IN ('uncertain', 'dead', 'conflict'));

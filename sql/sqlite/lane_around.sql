-- by counterfoil_delivery_lane: how many are open before a place, and how many wait behind it.
SELECT
  (SELECT count(*) FROM counterfoil_delivery
   WHERE destination = ?1 AND ordering_key = ?2 AND ordering_key IS NOT NULL AND key_seq < ?3),
  (SELECT count(*) FROM counterfoil_delivery
   WHERE destination = ?1 AND ordering_key = ?2 AND ordering_key IS NOT NULL AND key_seq > ?3
     AND state = 'pending');

-- by counterfoil_outbox_lane, then by rowid and by sqlite_autoindex_counterfoil_receipt_1.
SELECT count(*), count(DISTINCT p.place), coalesce(max(p.place), 0),
  coalesce(sum(p.in_flight), 0)
FROM (
  SELECT coalesce(d.key_seq, (SELECT r.key_seq FROM counterfoil_receipt r WHERE r.n = o.n
      ORDER BY r.round DESC LIMIT 1)) AS place,
    d.state IN ('sending', 'asking', 'published') AS in_flight
  FROM counterfoil_outbox o LEFT JOIN counterfoil_delivery d ON d.n = o.n
  WHERE o.ordering_key IS NOT NULL AND o.destination = ?1 AND o.ordering_key = ?2
) p;

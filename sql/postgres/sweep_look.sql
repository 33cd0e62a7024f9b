-- by delivery_expiry, and scan of tally and scan of lane_freed, of few rows each: whether a sweep
-- has anything to do, and when.
SELECT cf.micros(),
  EXISTS (SELECT 1 FROM cf.delivery d
    WHERE d.expires_at IS NOT NULL AND d.expires_at <= (SELECT cf.micros()) AND d.state = 'pending'
      AND (d.in_doubt = 0 OR d.available_at IS NOT NULL)),
  (SELECT count(*) FROM (SELECT 1 FROM cf.tally LIMIT $1::bigint) AS few) >= $1::bigint,
  EXISTS (SELECT 1 FROM cf.lane_freed);

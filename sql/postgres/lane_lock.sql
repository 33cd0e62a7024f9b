-- by lane_pkey: a redelivery into a lane keeps writers of the lane away until it is committed, and
-- lets those who have looked before it try again.
UPDATE cf.lane SET last = last WHERE destination = $1::text AND ordering_key = $2::text
RETURNING last;

-- by lane_pkey: a redelivery into a lane keeps writers of the lane away until it is committed.
SELECT last FROM cf.lane WHERE destination = $1::text AND ordering_key = $2::text FOR UPDATE;

-- by lane_pkey: a place behind all others is given, or was given before the row was lost.
UPDATE cf.lane SET last = greatest(last, $3::bigint)
WHERE destination = $1::text AND ordering_key = $2::text;

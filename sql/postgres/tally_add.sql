-- by nothing: appends what was counted; sweeps fold it.
INSERT INTO cf.tally(destination, outcome, count)
SELECT * FROM unnest($1::text[], $2::text[], $3::bigint[]);

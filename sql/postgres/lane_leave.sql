-- by nothing: notes that a sweep must look at these lanes.
INSERT INTO cf.lane_freed(destination, ordering_key) SELECT * FROM unnest($1::text[], $2::text[]);

-- by delivery_pkey, inside the function.
SELECT cf.complete($1::text, $2::bytea, $3::text, $4::bigint);

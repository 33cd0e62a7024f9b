-- by delivery_pkey, inside the function.
SELECT cf.reject($1::text, $2::bytea, $3::text, $4::bigint);

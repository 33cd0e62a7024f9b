-- A command in the shop's own transaction, by the function that every language has; served by the
-- unique index on command_id.
SELECT cf.enqueue($1::text, $2::text, $3::text, $4::text);

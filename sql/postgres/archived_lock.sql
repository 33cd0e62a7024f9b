-- by archived_pkey: whoever reads it here says by itself what is kept beside it.
SELECT outcome, rounds FROM cf.archived WHERE command_id = $1::text FOR UPDATE;

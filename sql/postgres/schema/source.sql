-- By the primary key of meta.
UPDATE cf.meta SET source = $1::text WHERE k = 1;

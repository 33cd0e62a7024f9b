-- By the primary key of meta.
SELECT version, source, store, cf.micros() FROM cf.meta WHERE k = 1;

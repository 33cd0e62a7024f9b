-- by scan of destination: a row a destination.
SELECT name, contract FROM cf.destination WHERE contract IS NOT NULL;

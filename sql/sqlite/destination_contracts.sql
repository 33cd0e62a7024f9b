-- by scan of counterfoil_destination: a row a destination.
SELECT name, contract FROM counterfoil_destination WHERE contract IS NOT NULL;

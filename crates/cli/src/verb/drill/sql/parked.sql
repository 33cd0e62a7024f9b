-- How many commands wait for a person; by counterfoil_delivery_parked.
SELECT count(*) FROM counterfoil_delivery
WHERE state = 'dead' OR state = 'uncertain' OR state = 'conflict';

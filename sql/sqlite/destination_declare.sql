-- by the primary key of counterfoil_destination.
INSERT INTO counterfoil_destination(name, contract) VALUES (?1, ?2)
ON CONFLICT(name) DO UPDATE SET contract = excluded.contract;

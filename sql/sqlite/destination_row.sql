-- by the primary key of counterfoil_destination.
SELECT contract, paused_at IS NOT NULL FROM counterfoil_destination WHERE name = ?1;

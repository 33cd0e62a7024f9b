-- by delivery_turn, then outbox_pkey: who has the turn of a lane.
SELECT o.command_id, d.state FROM cf.delivery d JOIN cf.outbox o ON o.n = d.n
WHERE d.destination = $1::text AND d.ordering_key = $2::text AND d.turn IS NOT NULL;

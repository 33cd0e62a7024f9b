-- by sqlite_autoindex_counterfoil_outbox_1: what stands under an id, to compare.
SELECT destination, kind, ordering_key, body, core_digest, erased_at IS NOT NULL
FROM counterfoil_outbox WHERE command_id = ?1;

-- by outbox_command_id_key and archived_pkey: what stands under these ids, to compare; in one
-- snapshot, since an archive moves rows.
SELECT o.command_id, false, o.destination, o.kind, o.ordering_key, o.body, o.core_digest,
  o.erased_at IS NOT NULL, NULL::bytea
FROM cf.outbox o WHERE o.command_id = ANY($1::text[])
UNION ALL
SELECT a.command_id, true, a.destination, a.kind, a.ordering_key, NULL, NULL, false, a.digest
FROM cf.archived a WHERE a.command_id = ANY($1::text[]);

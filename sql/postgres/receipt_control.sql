-- by receipt_pkey backwards, a range of the newest, then outbox_pkey. Newest by number: receipts of
-- old commands that were sent again late stand further back. A person's word is no control.
SELECT o.command_id FROM (
  SELECT n, round, outcome, destination, source FROM cf.receipt
  ORDER BY n DESC, round DESC LIMIT $3::bigint
) r JOIN cf.outbox o ON o.n = r.n
WHERE r.outcome = 'completed' AND r.destination = $1::text AND o.command_id <> $2::text
  AND NOT starts_with(r.source, 'operator ')
ORDER BY r.n DESC, r.round DESC LIMIT 1;

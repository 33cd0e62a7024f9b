-- by delivery_pkey: the plain claims of pending commands that are all claimed alike, as the first
-- attempts of one exchange are, in the transaction that has just read and locked them.
UPDATE cf.delivery d SET state = 'sending', attempts = $2::int, round_since = $3::bigint,
  token = $4::bigint, available_at = $5::bigint, lease_until = $5::bigint,
  last_lease_until = $5::bigint, lease_owner = $7::text, first_sent_at = $6::bigint
WHERE d.n = ANY($1::bigint[]);

-- by outbox_pkey, delivery_pkey and operator_action_about: what became of it nobody knows. It may
-- have been sent since it was recorded, and may be on its way until now. Its round is the one that
-- people began.
INSERT INTO cf.delivery(n, destination, state, round, in_doubt, token, first_sent_at,
  last_lease_until, expires_at, ordering_key, key_seq, last_outcome, digest, row_digest)
SELECT o.n, o.destination, 'uncertain', 1 + (SELECT count(*) FROM cf.operator_action a
    WHERE a.about = o.command_id
      AND (a.verb = 'retry' OR (a.verb = 'resolve' AND a.after = 'pending')))::int,
  1, $2::bigint, o.recorded_at, $3::bigint, o.expires_at, o.ordering_key, $4::bigint, $5::text,
  $6::bytea, $7::bytea
FROM cf.outbox o WHERE o.n = $1::bigint
ON CONFLICT (n) DO NOTHING RETURNING n;

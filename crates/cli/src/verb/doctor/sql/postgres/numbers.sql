-- What each sequence has drawn last, NULL where this user may not see it, and the largest number
-- that stands; by the primary keys, and by scan of input, which holds only what waits.
WITH drawn AS (
  SELECT name, stands,
    CASE WHEN has_sequence_privilege(name::regclass, 'USAGE, SELECT')
      THEN coalesce(pg_sequence_last_value(name::regclass), 0) END AS last
  FROM (VALUES
    ('cf.outbox_n_seq', (SELECT max(n) FROM cf.outbox)),
    ('cf.attempt_id_seq', (SELECT max(id) FROM cf.attempt)),
    ('cf.contradiction_id_seq', (SELECT max(id) FROM cf.contradiction)),
    ('cf.operator_action_id_seq', (SELECT max(id) FROM cf.operator_action)),
    ('cf.input_arrival_seq', (SELECT max(arrival) FROM cf.input))) AS s(name, stands)
)
SELECT name, last, coalesce(stands, 0) FROM drawn ORDER BY name;

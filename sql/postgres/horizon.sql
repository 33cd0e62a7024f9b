-- by nothing: how far numbers and time have come. Read before horizon_writers: whoever drew one of
-- these holds its table's lock since before.
SELECT coalesce(pg_sequence_last_value('cf.outbox_n_seq'::regclass), 0), cf.micros(),
  coalesce(pg_sequence_last_value('cf.attempt_id_seq'::regclass), 0),
  coalesce(pg_sequence_last_value('cf.contradiction_id_seq'::regclass), 0),
  coalesce(pg_sequence_last_value('cf.operator_action_id_seq'::regclass), 0);

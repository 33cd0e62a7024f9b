-- by nothing: it appends. The time is told here and not before, so that whoever drew it holds the
-- table's lock already: an audit's horizon relies on that.
INSERT INTO cf.receipt(n, round, outcome, result, evidence, source, destination, attempts,
  token, first_sent_at, digest, row_digest, recorded_at, key_seq)
VALUES ($1::bigint, $2::int, $3::text, $4::bytea, $5::text, $6::text, $7::text, $8::int, $9::bigint,
  $10::bigint, $11::bytea, $12::bytea, cf.micros(), $13::bigint);

-- by outbox_command_id_key and delivery_pkey: which of these are open, and which of those stay as
-- they are until the transaction ends; what another transaction holds is not waited for.
WITH free AS MATERIALIZED (
  SELECT d.n FROM cf.outbox o JOIN cf.delivery d ON d.n = o.n
  WHERE o.command_id = ANY($1::text[]) ORDER BY d.n FOR UPDATE OF d SKIP LOCKED
)
SELECT o.command_id, EXISTS (SELECT 1 FROM free f WHERE f.n = o.n)
FROM cf.outbox o JOIN cf.delivery d ON d.n = o.n WHERE o.command_id = ANY($1::text[]);

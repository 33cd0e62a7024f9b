-- by stream_pkey: where these workflows are, held until the transaction ends; in the order of
-- streams.
SELECT h.stream, h.workflow, h.version, h.status, h.head
FROM cf.stream h WHERE h.stream = ANY($1::text[]) ORDER BY h.stream FOR UPDATE;

-- Replication slots that hold back what vacuum may remove from tables, the oldest first; a small
-- view.
SELECT slot_name::text, active, age(xmin)::bigint
FROM pg_replication_slots WHERE xmin IS NOT NULL ORDER BY age(xmin) DESC;

-- All of a small table, by its primary key.
SELECT name, contract, paused_by, paused_why, paused_at FROM cf.destination ORDER BY name;

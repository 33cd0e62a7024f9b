-- the schema is small; it has no index of its own.
SELECT name, tbl_name, sql FROM sqlite_schema
WHERE type = 'trigger' AND tbl_name LIKE 'counterfoil\_%' ESCAPE '\' ORDER BY name;

-- the schema is small; it has no index of its own. Of a table one row for each column.
SELECT m.type, m.name, m.tbl_name, coalesce(m.sql, ''), coalesce(c.name, ''),
  coalesce(c.type || ' ' || c."notnull" || ' ' || c.pk, '')
FROM sqlite_schema m LEFT JOIN pragma_table_info(m.name) c ON m.type = 'table'
WHERE m.type <> 'trigger' AND m.name LIKE 'counterfoil\_%' ESCAPE '\' ORDER BY m.name, c.cid;

-- The database's time in microseconds, by the same expression as the guards; touches no table.
SELECT CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER)

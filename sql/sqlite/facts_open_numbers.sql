-- by rowid from the cursor on.
SELECT n FROM counterfoil_delivery WHERE n >= ?1 ORDER BY n LIMIT ?2;

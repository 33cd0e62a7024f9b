-- by rowid of the connection's own table: last_insert_rowid() is then that number.
REPLACE INTO temp.counterfoil_pass VALUES (?1);

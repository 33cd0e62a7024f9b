-- by rowid, its last: it stays for ever, so that no n is given twice.
SELECT max(n) FROM counterfoil_outbox;

-- by rowid: takes back a row of a decision that is refused in the same transaction.
DELETE FROM counterfoil_delivery WHERE n = ?1;

-- by rowid: takes back a row of a decision that is refused in the same transaction, or takes away one
-- whose tombstone was written in it.
DELETE FROM counterfoil_outbox WHERE n = ?1;

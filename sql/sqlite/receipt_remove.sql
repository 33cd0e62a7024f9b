-- by sqlite_autoindex_counterfoil_receipt_1: all of an archived command.
DELETE FROM counterfoil_receipt WHERE n = ?1;

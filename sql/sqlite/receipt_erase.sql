-- by sqlite_autoindex_counterfoil_receipt_1: all of a command.
UPDATE counterfoil_receipt SET result = NULL, evidence = NULL WHERE n = ?1;
